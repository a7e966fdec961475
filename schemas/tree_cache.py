"""Contracts derived from source trees, kept by the content of the files that they come from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from typing import Any, NamedTuple

from .contract import Contract
from .reading import read
from .store import NotDerived, UnknownRelease

#: Part of every key, so that a contract that an older deriver made is not taken for what this one would make.
_FORMAT = 4

#: What tells one release from another. The rest of what was read is compared when a contract is taken from the cache.
_SOURCES = ("transformer/transformer_config.py", "transformer/enums.py", "model_parallel_config.py", "package_info.py")


def derived(path: str, *, keep: bool) -> Contract:
    """The contract of the Megatron-Core in the source tree at ``path``.

    Args:
        path: a checkout, an unzipped wheel or a ``site-packages`` folder.
        keep: whether to look for it in the cache, and to put it there.

    Raises:
        UnknownRelease: there is no Megatron-Core with a ``TransformerConfig`` in the tree.
    """
    folder = _folder() if keep else None
    place = os.path.join(folder, f"{_key(path)}.json") if folder else ""
    schema = _load(place, path) if place else None
    if schema is None:
        schema, read = freshly_derived(path)
        if place:
            _save(place, {"schema": schema, "read": read})
    return Contract(schema.get("x-mcore") or os.path.basename(os.path.abspath(path)), schema)


class Derived(NamedTuple):
    """A contract as a schema, and the SHA-256 of each file that was read for it, by its path from the tree's."""

    schema: dict[str, Any]
    read: dict[str, str]


def freshly_derived(path: str) -> Derived:
    """The contract of a source tree, without the cache.

    Raises:
        UnknownRelease: none can be derived; the message says why.
    """
    from .derivation.logic import TooMuch
    from .derive import NotMegatron, Tree, derive

    try:
        tree = Tree(path)
        schema = derive(tree)
        return Derived(schema, {os.path.relpath(tree.root / name, path): tree.digests[name] for name in tree.digests})
    except NotMegatron as error:
        raise UnknownRelease(f"{path}: {error}") from None
    except TooMuch as error:
        raise NotDerived(f"{path}: no contract can be derived: its source {error}") from None
    except RecursionError:
        raise NotDerived(f"{path}: no contract can be derived: its source is nested too deeply") from None
    except MemoryError:
        raise NotDerived(f"{path}: no contract can be derived: there is not enough memory") from None
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise NotDerived(f"{path}: its source cannot be read: {error}") from None
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise NotDerived(f"{path}: no contract can be derived ({why}); please report this") from error


def _folder() -> str | None:
    """The folder of the cache, which only this user can write to; None where there is no such folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # which the specification has ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "recompute-lint", "contracts")
    if not os.path.isabs(folder):
        return None
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or not _is_ours(status):
            return None
        if stat.S_IMODE(status.st_mode) != 0o700:
            os.chmod(folder, 0o700)
    except (OSError, ValueError):
        return None
    return folder


def _is_ours(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def _key(path: str) -> str:
    digest = hashlib.sha256(f"{_FORMAT} {os.path.abspath(path)}".encode("utf-8", "surrogateescape"))
    for name in _SOURCES:
        digest.update(name.encode())
        try:
            digest.update(read(os.path.join(path, "megatron", "core", name)))
        except OSError:
            digest.update(b"-")
    return digest.hexdigest()


def _digest(path: str) -> str:
    """The digest of a file's content; empty where it cannot be read."""
    try:
        return hashlib.sha256(read(path)).hexdigest()
    except OSError:
        return ""


def _load(place: str, path: str) -> dict[str, Any] | None:
    """The schema that was kept; None where there is none, something that was not put there, or the tree has changed."""
    try:
        status = os.lstat(place)
        if not _is_ours(status) or status.st_mode & 0o022:
            return None
        digest, _, content = read(place).partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != digest:
            return None
        kept = json.loads(content)
        schema, sources = kept["schema"], kept["read"]
        if any(_digest(os.path.join(path, name)) != sources[name] for name in sources):
            return None
    except (LookupError, OSError, TypeError, ValueError, RecursionError, MemoryError):
        return None
    return schema if _is_contract(schema) else None


def _is_contract(schema: Any) -> bool:
    """Whether JSON has the shape of a contract, as far as the rules rely on it."""
    try:
        return (
            all(isinstance(module, str) for module in schema["x-modules"])
            and all(isinstance(field, dict) for field in schema["properties"].values())
            and all(
                isinstance(branch["not"], dict)
                and isinstance(branch["x-subject"]["field"], str)
                and all(isinstance(branch[name], str) for name in ("x-rule", "x-message", "x-source"))
                for branch in schema["allOf"]
            )
        )
    except (AttributeError, KeyError, TypeError):
        return False


#: So many contracts are kept.
_MOST_KEPT = 64


def _save(place: str, kept: dict[str, Any]) -> None:
    """Keep it if that can be done; the next run derives it again if not."""
    import tempfile  # takes longer to import than a contract to load

    content = json.dumps(kept).encode()
    try:
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(place))
    except OSError:
        return
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)
        os.replace(temporary, place)
        entries = sorted(os.scandir(os.path.dirname(place)), key=lambda entry: entry.stat().st_mtime)
        for entry in entries[:-_MOST_KEPT]:  # what a run that was killed left behind is among them sooner or later
            os.unlink(entry.path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
