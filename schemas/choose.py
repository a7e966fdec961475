"""Choose the contract to lint with: the one requested, the one that the project uses, or the newest."""

import os
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from . import store
from .contract import Contract

if TYPE_CHECKING:
    from .detect import Hint
else:
    Hint = object


class Choice(NamedTuple):
    """The contract to lint with."""

    contract: Contract
    #: Where that is from: ``--mcore``, ``pinned in requirements.txt``.
    reason: str
    #: Whether it is only assumed, since nothing tells which release the project uses.
    assumed: bool = False
    #: What speaks against it: another release is installed, or a pin names a release that is not known.
    doubts: tuple[str, ...] = ()


def choose(requested: str, root: str, *, cache: bool = True, by: str = "--mcore") -> Choice:
    """The contract to lint with.

    Args:
        requested: a release, a series (``0.16``, which is its newest release), a source tree, or ``installed``; empty
            to look into the project.
        root: the project's folder.
        cache: whether a contract derived from a source tree is kept for the next run.
        by: where the request is written, for the reason.

    Raises:
        store.UnknownRelease: there is no contract for what is requested.
    """
    if requested == "installed":
        return _installed(root, cache)
    if not requested:
        return _of_project(root, cache)
    if os.path.isdir(requested):
        return Choice(_derived(requested, cache), by)
    release = store.resolved(requested)
    contract = store.load(release)  # or it says what is known
    return Choice(
        contract, _as(release, requested, by) if store.released(requested) else f"the newest of {requested}, {by}"
    )


def _installed(root: str, cache: bool) -> Choice:
    """The contract of what is installed.

    Raises:
        store.UnknownRelease: nothing is.
    """
    from . import detect

    trees = (hint for hint in detect.stated(root) if hint.path == root)
    for hint in chain(detect.environment(root), detect.installed(), trees):
        return _follow(hint, cache) or _newest()
    raise store.UnknownRelease("megatron-core is not installed here; name a release or a source tree instead")


def _of_project(root: str, cache: bool) -> Choice:
    """The contract of what a project's files say, so that it is the same wherever the project is checked out.

    What is installed decides where they say nothing, or give a range without an end and it is in the project's own
    virtual environment.
    """
    from . import detect

    said = statement(root, cache=cache)
    at_home = next(detect.environment(root), None)
    beside = at_home or next(detect.installed(), None)
    if said is None:
        return _follow(beside, cache) or _newest() if beside is not None else _newest()
    if said.choice.assumed and at_home is not None and (said.hint.absent or said.allows(at_home.version)):
        return _follow(at_home, cache) or said.choice
    if beside is None or said.allows(beside.version):
        return said.choice
    return said.choice._replace(doubts=(*said.choice.doubts, said.disagreement(beside)))


class Statement(NamedTuple):
    """What a project's files say of its Megatron-Core."""

    hint: Hint
    #: The contract that it leads to.
    choice: Choice

    def allows(self, version: str) -> bool:
        """Whether ``version`` may be installed; also where that cannot be told."""
        if self.hint.version:
            return _numbers(version) == _numbers(self.hint.version)
        return not self.hint.specifier or _is_in(version, self.hint.specifier)

    def disagreement(self, installed: Hint) -> str:
        """What to say where another release is installed than the files say."""
        number, other, where = self.hint.version, installed.version, self.hint.where
        said = f"{number} is {where}, and {other} is" if number else f"{where} does not allow {other}, which is"
        return (
            f"megatron-core {said} {installed.where}; linted against {self.choice.contract.version} (--mcore sets it)"
        )


def statement(root: str, *, cache: bool = True) -> Statement | None:
    """What the files of the project at ``root`` say of its Megatron-Core, surest first; None where they say nothing."""
    from . import detect

    weak: Statement | None = None
    unmet: list[Hint] = []
    for hint in detect.stated(root):
        choice = _follow(hint, cache)
        if choice is None and (hint.version or _is_range(hint.specifier)):
            unmet.append(hint)
        elif choice is not None and not choice.assumed:
            return Statement(hint, _with_doubts(choice, unmet))
        elif choice is not None and weak is None:
            weak = Statement(hint, choice)
        if hint.absent:  # the source tree is what is in use, and what comes after it is less sure
            break
    if unmet:
        return Statement(unmet[0], _with_doubts(_instead(unmet[0]), unmet))
    return weak


def _with_doubts(choice: Choice, unmet: list[Hint]) -> Choice:
    """A choice, and what to say of pins that no release known meets."""
    known = store.releases()
    tail = f"(of {known[0]} to {known[-1]}); linted against {choice.contract.version} (--mcore sets it)"
    said = (
        f"megatron-core {hint.version} is {hint.where} and is not known {tail}"
        if hint.version
        else f"no megatron-core known matches {hint.where} {tail}"
        for hint in unmet
    )
    return choice._replace(doubts=tuple(dict.fromkeys(said)))


def _instead(hint: Hint) -> Choice:
    """What stands in for a release that is not known: the newest of its series, or the newest of all."""
    series = ".".join(hint.version.split(".")[:2])
    release = store.newest_in(series)
    if release:
        return Choice(store.load(release), f"the newest of {series}, for {hint.version}, {hint.where}", assumed=True)
    newest = _newest()
    last = store.version_key(newest.contract.version)
    numbers = re.findall(r"\d+(?:\.\d+)*", hint.version or hint.specifier)
    is_ahead = any(store.version_key(number) > last for number in numbers)
    return newest._replace(contract=newest.contract.made_provisional()) if is_ahead else newest


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


def _newest() -> Choice:
    return Choice(store.load(store.releases()[-1]), "the newest release known", assumed=True)


def _provisionally(why: str) -> Choice:
    """The newest release in the place of a source tree; ``why`` its own contract cannot be had."""
    newest = _newest()
    return newest._replace(contract=newest.contract.made_provisional(), reason=f"{newest.reason}; {why}")


def _follow(hint: Hint, cache: bool) -> Choice | None:
    """The contract that a hint leads to, if one is known."""
    if hint.absent:
        return _provisionally(f"{hint.where}, is not checked out")
    if hint.version:
        release = store.released(hint.version)
        if release:
            return Choice(store.load(release), _as(release, hint.version, hint.where))
    if hint.path:
        try:
            return Choice(_derived(hint.path, cache), hint.where)
        except store.NotDerived as error:
            return _provisionally(f"of {hint.where}: {error}")
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
    return next((release for release in reversed(store.releases()) if _is_in(release, specifier)), None)


def _is_in(version: str, specifier: str) -> bool:
    """Whether a version is in a range; what is no range has none."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return False


def _is_range(specifier: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return bool(specifier) and bool(SpecifierSet(specifier))
    except InvalidSpecifier:
        return False


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, without those of a candidate or a build."""
    match = re.match(r"\d+(?:\.\d+)*", version.removeprefix("v"))
    return store.version_key(match[0]) if match else ()


def _derived(path: str, cache: bool) -> Contract:
    from .tree_cache import derived

    return derived(path, keep=cache)
