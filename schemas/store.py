"""Find and load the contract for the Megatron-Core in use."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from functools import lru_cache
from typing import Any

from .contract import Contract

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDER = os.path.join(_HERE, "mcore")


class UnknownRelease(ValueError):
    """No contract is known for a release; the message names those that come near."""


class NotDerived(UnknownRelease):
    """A source tree is one of Megatron-Core's, and no contract can be derived from it."""


@lru_cache(maxsize=1)
def index() -> dict[str, Any]:
    """The releases known, each with the file of its contract, and what came with which release."""
    with open(os.path.join(_FOLDER, "index.json"), encoding="utf-8") as stream:
        return json.load(stream)


def releases() -> list[str]:
    """Every release that has a contract, oldest first."""
    return sorted(index()["releases"], key=version_key)


def version_key(version: str) -> tuple[int, ...]:
    """What to sort releases by."""
    return tuple(int(part) if part.isdecimal() and len(part) < 10 else 0 for part in version.split("."))


#: What a release's tag and branch, and versions, may be written with.
_NUMBERS = r"(?:core_[rv]|v)?(\d+(?:\.\d+)*)"


def released(version: str) -> str | None:
    """The release known that ``version`` is, or is a candidate or build of (``0.17.0rc0``, ``0.16.1+abc``)."""
    match = re.match(_NUMBERS, version)
    plain = match[1] if match else ""
    return plain if plain in index()["releases"] else None


def newest_in(series: str) -> str | None:
    """The newest release known of a series (``0.16``); None where there is none, or it names no series."""
    match = re.fullmatch(_NUMBERS, series)
    if match is None or match[1].count(".") > 1:
        return None
    return next((release for release in reversed(releases()) if release.startswith(f"{match[1]}.")), None)


def resolved(requested: str) -> str:
    """The release that a request means: itself, that which it is a candidate of, or a series' newest.

    What names no release that is known is given back as it is.
    """
    return released(requested) or newest_in(requested) or requested


def load(version: str) -> Contract:
    """The contract of a release.

    Raises:
        UnknownRelease: there is no contract for it.
    """
    file = index()["releases"].get(version)
    if file is None:
        known = releases()
        raise UnknownRelease(
            f"no contract for megatron-core {version}; known are {known[0]} to {known[-1]}{_neighbours(version, known)}"
        )
    with open(os.path.join(_FOLDER, file), encoding="utf-8") as stream:
        return Contract(version, json.load(stream))


def _neighbours(version: str, known: list[str]) -> str:
    """The releases before and after a number that has no contract, in words; empty for what is no number."""
    if not version.removeprefix("v")[:1].isdigit():
        return ""
    place = bisect_left(known, version_key(version.removeprefix("v")), key=version_key)
    near = known[max(0, place - 2) : place + 1]
    return f", and nearest to it {'are' if len(near) > 1 else 'is'} {', '.join(near)}"


def newest_of_each_series(versions: list[str]) -> list[str]:
    """The newest of the releases that agree in the first two numbers, for each such pair, oldest first."""
    return list({version_key(version)[:2]: version for version in versions}.values())


@lru_cache(maxsize=1)
def recent() -> list[Contract]:
    """The contracts of the newest releases of the last four series, which is about a year's."""
    return list(map(load, newest_of_each_series(releases())[-4:]))


@lru_cache(maxsize=16)
def parser(name: str) -> Contract:
    """What a framework's own argument parser makes of the settings before Megatron-Core sees them.

    Args:
        name: a schema of ``schemas/recipes``, whose ``$defs/arguments`` that is; or nothing, for no parser.
    """
    if not name:
        return Contract("", {"properties": {}, "allOf": []})
    with open(os.path.join(_HERE, "recipes", f"{name}.json"), encoding="utf-8") as stream:
        return Contract(name, {"allOf": [], **json.load(stream)["$defs"]["arguments"]})
