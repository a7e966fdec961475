"""Which Megatron-Core a project uses, as its files tell it. Nothing is imported or run."""

import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .reading import read

#: What makes a folder a source tree of Megatron-Core.
CONFIG = os.path.join("megatron", "core", "transformer", "transformer_config.py")

#: Lock files are long; nothing longer than this is read.
_MAX_BYTES = 32 * 2**20

#: So many mentions in one file are looked at.
_MOST_HINTS = 50

_LOCKED = (
    r'(?m)^\[\[package\]\]\s+name\s*=\s*"megatron[-_]core"\s+(?:version\s*=\s*"(?P<version>[^"]+)")?'
    r'(?:\s*source\s*=\s*\{[^}\n]*(?:editable|directory|path)\s*=\s*"(?P<path>[^"]+)")?'
)
_PINNED = (
    r"""(?im)(?:^|["'\s])megatron[-_.]core\s*(?:\[[^\]]{0,200}\]\s*)?(?P<spec>(?:[=<>!~]=?=?\s*[\w.*+!]+\s*,?\s*)+)"""
)
_POETRY = (
    r"""(?m)^\s*megatron-core\s*=\s*(?:\{[^}\n]*?version\s*=\s*)?"""
    r"""["'](?P<spec>(?P<sign>[\^~]?)(?P<version>\d+(?:\.\d+){0,2}))["']"""
)
_REFERENCE = r"Megatron-LM(?:\.git)?@core_[rv](?P<version>\d+\.\d+\.\d+)"
_SUBMODULE = r"(?m)^[ \t]*path[ \t]*=[ \t]*(?P<path>\S.*)$"


class Hint(NamedTuple):
    """What a file says about the Megatron-Core in use: one of version, specifier and path."""

    #: The file or folder that says it, relative to the project.
    where: str
    version: str = ""
    #: A range (PEP 440), where there is no single version.
    specifier: str = ""
    #: A source tree.
    path: str = ""
    #: Whether it is named and not there: a submodule that was not checked out.
    absent: bool = False


def stated(root: str) -> Iterator[Hint]:
    """What a project's own files say, which is the same wherever it is checked out, the surest first."""
    if os.path.isfile(os.path.join(root, CONFIG)):
        yield Hint("this source tree", path=root)
    for name in ("uv.lock", "poetry.lock", "pdm.lock"):
        yield from _locked(root, name)
    for name in _requirement_files(root):
        yield from _pinned(root, name)
    yield from _submodules(root)


def environment(root: str) -> Iterator[Hint]:
    """The Megatron-Core installed in the project's own virtual environment."""
    for name in (".venv", "venv"):
        for folder in _site_packages(os.path.join(root, name)):
            yield from _in_site_packages(folder, os.path.relpath(folder, root))


def installed() -> Iterator[Hint]:
    """The Megatron-Core installed where this Python, or the active virtual environment, looks for packages."""
    folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        folders = [*_site_packages(active), *folders]
    for folder in folders:
        yield from _in_site_packages(folder, folder)


def importable() -> Hint | None:
    """The Megatron-Core that this process has imported, or the first on its search path; None where there is none."""
    packages = getattr(sys.modules.get("megatron.core"), "__path__", ())
    folders = [
        os.path.abspath(path) for path in (*(os.path.join(package, "..", "..") for package in packages), *sys.path)
    ]
    for folder in folders:
        if os.path.isfile(os.path.join(folder, CONFIG)):
            return next(_in_site_packages(folder, folder), Hint(f"the source tree {folder}", path=folder))
    # an editable install may be found by a hook of its own
    return next((hint for folder in folders for hint in _in_site_packages(folder, folder)), None)


def _site_packages(environment: str) -> list[str]:
    library = os.path.join(environment, "lib")
    try:
        names = sorted(name for name in os.listdir(library) if name.startswith("python"))
    except OSError:
        return []
    return [os.path.join(library, name, "site-packages") for name in names]


def _in_site_packages(folder: str, shown: str) -> Iterator[Hint]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith("megatron_core-") and name.endswith(".dist-info"):
            version = name.removeprefix("megatron_core-").removesuffix(".dist-info")
            yield Hint(f"installed in {shown}", version=version, path=folder)


def _locked(root: str, name: str) -> Iterator[Hint]:
    text = _read(root, name)
    for match in islice(re.finditer(_LOCKED, text), _MOST_HINTS) if "megatron" in text else ():
        path = os.path.join(root, match["path"]) if match["path"] else ""
        if path:
            absent = not os.path.isfile(os.path.join(path, CONFIG))
            yield Hint(f"{match['path']}, which {name} names", path=path, absent=absent)
        elif match["version"]:
            yield Hint(f"locked in {name}", version=match["version"])


def _requirement_files(root: str) -> list[str]:
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    files = [name for name in names if name.startswith(("requirements", "constraints")) and _is_listing(name)]
    if "requirements" in names:
        folder = os.path.join(root, "requirements")
        if os.path.isdir(folder):
            files += [f"requirements/{name}" for name in sorted(os.listdir(folder)) if _is_listing(name)]
    return [*files, *(name for name in ("pyproject.toml", "setup.cfg", "setup.py") if name in names)]


def _is_listing(name: str) -> bool:
    return name.endswith((".txt", ".in"))


def _pinned(root: str, name: str) -> Iterator[Hint]:
    text = _read(root, name)
    if "egatron" not in text:
        return
    text = re.sub(r"(?m)(?:^|\s)#.*$", "", text)
    reference = re.search(_REFERENCE, text)
    if reference:
        yield Hint(f"pinned in {name}", version=reference["version"])
    for match in islice(re.finditer(_PINNED, text), _MOST_HINTS):
        specifier = match["spec"].strip().rstrip(",").strip()
        exact = re.fullmatch(r"===?\s*([\w.+!]+)", specifier)
        if exact:
            yield Hint(f"pinned in {name}", version=_in_full(exact[1]))
        else:
            yield Hint(f"{specifier} in {name}", specifier=specifier)
    for match in islice(re.finditer(_POETRY, text), _MOST_HINTS):
        yield Hint(f"{match['spec']} in {name}", specifier=_as_range(match["sign"], match["version"]))


def _in_full(version: str) -> str:
    """A release that a requirement names, with all its numbers: ``==0.16`` is 0.16.0, as pip reads it."""
    return f"{version}{'.0' * (2 - version.count('.'))}" if re.fullmatch(r"\d+(\.\d+)*", version) else version


def _as_range(sign: str, version: str) -> str:
    """A range of Poetry's (``^0.12``, ``~0.12.1``) as PEP 440 has it."""
    if not sign:
        return f"=={version}"
    numbers = [int(number) for number in version.split(".")]
    last = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1) if sign == "^" else 1
    end = [*numbers[: min(last, len(numbers) - 1)], numbers[min(last, len(numbers) - 1)] + 1]
    return f">={version},<{'.'.join(map(str, end))}"


def submodules(root: str) -> list[str]:
    """The folders that ``.gitmodules`` names, relative to the project."""
    found = islice(re.finditer(_SUBMODULE, _read(root, ".gitmodules")), _MOST_HINTS)
    return [match["path"].strip() for match in found]


def _submodules(root: str) -> Iterator[Hint]:
    paths = submodules(root)
    for path in ["Megatron-LM", "3rdparty/Megatron-LM", "third_party/Megatron-LM", *paths]:
        for inner in (path, f"{path}/3rdparty/Megatron-LM"):
            tree = os.path.normpath(os.path.join(root, inner))
            inside = tree.startswith(root + os.sep)  # a path that leads out of the project is not followed
            if inside and os.path.isfile(os.path.join(tree, CONFIG)):
                yield Hint(f"the source tree {inner}", path=tree)
    for path in paths:
        if os.path.basename(path).lower() == "megatron-lm" and not _has_files(os.path.join(root, path)):
            yield Hint(f"{path}, which .gitmodules names", path=path, absent=True)


def _has_files(folder: str) -> bool:
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _read(root: str, name: str) -> str:
    try:
        return read(os.path.join(root, name), _MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
