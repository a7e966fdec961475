"""Choose the contract to lint with: the one requested, the one that the project uses, or the newest."""

import os
from typing import TYPE_CHECKING, NamedTuple

from . import store
from .contract import Contract

if TYPE_CHECKING:
    from .detect import Hint


class Choice(NamedTuple):
    """The contract to lint with."""

    contract: Contract
    #: Where that is from: ``--mcore``, ``pinned in requirements.txt``.
    reason: str
    #: Whether it is only assumed, since nothing tells which release the project uses.
    assumed: bool = False


def choose(requested: str, root: str, *, cache: bool = True, by: str = "--mcore") -> Choice:
    """The contract to lint with.

    Args:
        requested: a release, a source tree, or ``installed``; empty to look into the project.
        root: the project's folder.
        cache: whether a contract derived from a source tree is kept for the next run.
        by: where the request is written, for the reason.

    Raises:
        store.UnknownRelease: there is no contract for what is requested.
    """
    from . import detect

    if requested == "installed":
        for hint in detect.hints(root):
            if hint.where.startswith("installed") or hint.where == "this source tree":
                return _follow(hint, cache) or _newest(root)
        raise store.UnknownRelease("megatron-core is not installed here; name a release or a source tree instead")
    if requested:
        if os.path.isdir(requested):
            return Choice(_derived(requested, cache), by)
        release = store.released(requested)
        if release:
            return Choice(store.load(release), _as(release, requested, by))
        return Choice(store.load(requested), by)  # which says what is known
    for hint in detect.hints(root):
        choice = _follow(hint, cache)
        if choice is not None:
            return choice
    return _newest(root)


def importable() -> Choice:
    """The contract of the Megatron-Core that this process has imported, or would import.

    A build that is no release (a candidate, a checkout) has its contract derived from its source.

    Raises:
        store.UnknownRelease: there is no Megatron-Core on the search path.
    """
    from . import detect

    hint = detect.importable()
    if hint is None:
        raise store.UnknownRelease("no megatron-core is installed here; name a release or a source tree instead")
    if hint.version in store.index()["releases"]:
        return Choice(store.load(hint.version), hint.where)
    return Choice(_derived(hint.path, False), hint.where)


def _newest(root: str) -> Choice:
    return Choice(store.load(store.releases()[-1]), "the newest release known", assumed=True)


def _follow(hint: "Hint", cache: bool) -> Choice | None:
    """The contract that a hint leads to, if one is known."""
    if hint.absent:
        newest = store.load(store.releases()[-1])
        return Choice(newest.ahead(), f"the newest release known; {hint.where}, is not checked out", assumed=True)
    if hint.version:
        release = store.released(hint.version)
        if release:
            return Choice(store.load(release), _as(release, hint.version, hint.where))
    if hint.path:
        try:
            return Choice(_derived(hint.path, cache), hint.where)
        except store.NotDerived as error:
            newest = store.load(store.releases()[-1])
            return Choice(newest.ahead(), f"the newest release known; of {hint.where}: {error}", assumed=True)
        except store.UnknownRelease:
            return None
    if hint.specifier:
        release = _newest_inside(hint.specifier)
        if release:
            # a range that the newest release is in says no more than that it is not an old one
            newest = release == store.releases()[-1]
            return Choice(store.load(release), f"the newest release that matches {hint.where}", assumed=newest)
    return None


def _as(release: str, version: str, reason: str) -> str:
    return reason if version.removeprefix("v") == release else f"for {version}, {reason}"


def _newest_inside(specifier: str) -> str | None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        allowed = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    return next((release for release in reversed(store.releases()) if allowed.contains(release)), None)


def _derived(path: str, cache: bool) -> Contract:
    from .tree_cache import derived

    return derived(path, keep=cache)
