"""Where Megatron-Core and Transformer Engine's Python are found on this machine. Imports neither."""

from __future__ import annotations

import importlib.util
import os
import re
from importlib import metadata
from typing import NamedTuple

from ...sources.errors import UsageError
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
    """Megatron-Core as ``--mcore`` says: a folder, a release or the installed one; else that or the newest kept.

    Raises:
        UsageError: there is none such.
        Unavailable: nothing is said and there is none.
    """
    return _find("megatron-core", "megatron/core", "--mcore", wanted)


def transformer_engine(wanted: str | None) -> Place:
    """Transformer Engine's Python, in the same way; the folder is always named, since it is put behind a stand-in."""
    place = _find("transformer-engine", "transformer_engine", "--te", wanted)
    if place.folder is not None:
        return place
    spec = importlib.util.find_spec("transformer_engine")
    assert spec is not None and spec.origin is not None
    return place._replace(folder=os.path.dirname(os.path.dirname(spec.origin)))


def kept(package: str) -> str:
    """The folder that has unzipped releases of a package, by version."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "recompute-lint", package)


def _find(package: str, inside: str, option: str, wanted: str | None) -> Place:
    if wanted and os.path.isdir(wanted):
        if os.path.isdir(os.path.join(wanted, inside)):
            return Place(os.path.basename(os.path.normpath(wanted)), os.path.abspath(wanted), option)
        raise UsageError(f"{option} {wanted}: no {inside} in that folder")
    installed = _installed(package)
    if wanted in (None, "installed") and installed:
        return Place(installed, None, "installed")
    there = _releases(package)
    if wanted and wanted != "installed":
        if installed == wanted:
            return Place(installed, None, "installed")
        if wanted in there:
            return Place(wanted, os.path.join(kept(package), wanted), option)
        raise UsageError(f"{option} {wanted}: it is not here. {_how(package, wanted)}")
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
