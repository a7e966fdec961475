"""Where Megatron-Core and Transformer Engine's Python are found on this machine. Imports neither."""

from __future__ import annotations

import glob
import importlib.util
import operator
import os
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from typing import NamedTuple

from ...schemas import store
from ...schemas.reading import read
from ...sources.errors import UsageError, shown
from ..request import Unavailable


class Place(NamedTuple):
    """A package that can be imported.

    Attributes:
        version: as far as it is known.
        folder: to put on the path; None where it is installed.
        why: how it was chosen, for the report.
    """

    version: str
    folder: str | None
    why: str


def megatron_core(wanted: str | None) -> Place:
    """Megatron-Core as ``--mcore`` says: a folder, a release, a series (its newest) or the installed one; else that or
    the newest kept.

    Raises:
        UsageError: there is none such.
        Unavailable: nothing is said and there is none.
    """
    return _find("megatron-core", "megatron/core", "--mcore", wanted, store.resolved)


def transformer_engine(wanted: str | None, mcore: Place | None = None) -> Place:
    """Transformer Engine's Python: as ``--te`` says, else the installed one, else the newest that ``mcore`` accepts.

    Of a series, which has no list of releases here, it is the newest kept.

    The folder is always named, since it is put behind a stand-in.

    Raises:
        UsageError: there is none such.
        Unavailable: nothing is said and there is none.
    """
    place = _find("transformer-engine", "transformer_engine", "--te", wanted, _newest_kept)
    if place.folder is not None:
        return place if wanted or mcore is None else _accepted(place, mcore)
    spec = importlib.util.find_spec("transformer_engine")
    assert spec is not None and spec.origin is not None
    return place._replace(folder=os.path.dirname(os.path.dirname(spec.origin)))


def _accepted(newest: Place, mcore: Place) -> Place:
    """The newest release that is kept here and that a Megatron-Core accepts; where it accepts none, the nearest."""
    bounds = requirement(mcore)
    there = _releases("transformer-engine")
    fitting = [version for version in there if satisfies(version, bounds)]
    below = [version for version in there if satisfies(version, ",".join(re.findall(r"<=?[^,]+", bounds)))]
    version = (fitting or below or there[:1])[-1]
    said = f" ({bounds})" if bounds else ""
    why = f"the newest kept here that megatron-core {mcore.version} accepts{said}"
    if not fitting:
        why = f"megatron-core {mcore.version} asks for {bounds}, which is not kept here"
    return newest._replace(version=version, folder=os.path.join(kept("transformer-engine"), version), why=why)


#: What the wheels of Megatron-Core ask for in their metadata (extra "dev"), by release; from 0.17 on any will do.
_ASKED = {"0.14": "<2.8.0,>=2.6.0a0", "0.15": "<2.10.0,>=2.9.0a0", "0.16": "<2.12.0,>=2.9.0a0"}

_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
_REQUIREMENT = re.compile(r"transformer[-_]engine(?:\[[^\]]*\])?\s*([<>=!~][^;\"'\n]*)")


def requirement(mcore: Place) -> str:
    """The bounds that a Megatron-Core sets on Transformer Engine, as ``<2.12.0,>=2.9.0a0``; empty if it sets none.

    Taken from the metadata of an installed package or an unzipped wheel, or ``pyproject.toml`` of a checkout, else by
    release.
    """
    texts = []
    if mcore.folder is None:
        texts = metadata.requires("megatron-core") or []
    else:
        for pattern in ("megatron_core-*.dist-info/METADATA", "pyproject.toml"):
            for path in glob.glob(os.path.join(glob.escape(mcore.folder), pattern)):
                with suppress(OSError):
                    texts.append(read(path).decode("utf-8", "replace"))
    for text in texts:
        match = _REQUIREMENT.search(text)
        if match:
            return match[1].strip()
    return "" if texts else _ASKED.get(".".join(mcore.version.split(".")[:2]), "")


def satisfies(version: str, bounds: str) -> bool:
    """Whether a release is within bounds; a pre-release in a bound stands for its release."""
    for bound in filter(None, (part.strip() for part in bounds.split(","))):
        match = re.fullmatch(r"(<=|>=|==|<|>)\s*([\d.]+)\w*", bound)
        if match is None:
            continue
        one, other = _key(version), _key(match[2].strip("."))
        if not _COMPARISONS[match[1]](one, other):
            return False
    return True


def kept(package: str) -> str:
    """The folder that has unzipped releases of a package, by version."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "recompute-lint", package)


def _newest_kept(series: str) -> str:
    there = _releases("transformer-engine")
    return next((version for version in reversed(there) if version.startswith(f"{series}.")), series)


def _find(package: str, inside: str, option: str, wanted: str | None, resolved: Callable[[str], str]) -> Place:
    if wanted and os.path.isdir(wanted):
        if os.path.isdir(os.path.join(wanted, inside)):
            return Place(os.path.basename(os.path.normpath(wanted)), os.path.abspath(wanted), option)
        raise UsageError(f"{option} {wanted}: no {inside} in that folder")
    installed = _installed(package)
    if wanted in (None, "installed") and installed:
        return Place(installed, None, "installed")
    there = _releases(package)
    if wanted and wanted != "installed":
        release = resolved(wanted)
        if installed == release:
            return Place(installed, None, "installed")
        if release in there:
            return Place(release, os.path.join(kept(package), release), option)
        meant = "it" if release == wanted else release
        raise UsageError(f"{option} {shown(wanted)}: {meant} is not here. {_how(package, release)}")
    if there:
        return Place(there[-1], os.path.join(kept(package), there[-1]), "the newest that is kept here")
    raise Unavailable(f"{package} is not here. {_how(package, None)}")


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _releases(package: str) -> list[str]:
    try:
        names = os.listdir(kept(package))
    except OSError:
        return []
    return sorted((name for name in names if re.fullmatch(r"[\d.]+", name)), key=lambda name: _key(name))


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _how(package: str, version: str | None) -> str:
    pin = f"=={version}" if version else ""
    folder = os.path.join(kept(package), version or "VERSION")
    return (
        f"Get its wheel, which is small and pure Python: `pip download --no-deps {package}{pin}`, and unzip it into "
        f"{folder}"
    )
