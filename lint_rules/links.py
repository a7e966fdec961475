"""Turn the places in other people's source that notes name into links."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache

from ..schemas import store
from ..schemas.contract import Contract

_MEGATRON = "https://github.com/NVIDIA/Megatron-LM/blob"

#: Releases on the package index that the repository has no tag for, with the tag that has the same lines: their
#: contracts differ in nothing but the number. Of 0.3.0 there is none.
_TAGS = {"0.3.0": "", "0.18.1": "0.18.0", "0.19.1": "0.19.0", "0.19.2": "0.19.0"}

#: A file in a repository, with or without lines. A path without lines may be the reader's own, but for Megatron-Core's.
_PLACE = re.compile(
    r"(?<![\w/.-])(?:megatron/core/[\w./-]+\.py(?:#L\d+(?:-L\d+)?)?|(?:[\w.-]+/)+[\w.-]+\.\w+#L\d+(?:-L\d+)?)"
)

#: How a schema of ``schemas/recipes`` cites the source that it was made from.
_CITED = re.compile(r" of (?P<repository>[\w.-]+/[\w.-]+) (?P<commit>[0-9a-f]{7,40})$")

#: What reads the YAML of NeMo-RL, verl and ROLL, at a tag that has the lines that rules cite.
_OMEGACONF = "https://github.com/omry/omegaconf/blob/v2.3.0"

_RECIPES = os.path.join(os.path.dirname(store.__file__), "recipes")


def link(contract: Contract, source: str) -> str:
    """A place in Megatron-Core's source as a link to the release's tag; as it stands for a source tree.

    Args:
        contract: the release.
        source: ``megatron/core/transformer/transformer_config.py#L1208``.
    """
    if contract.version not in store.index()["releases"]:
        return source
    tag = tagged(contract.version)
    return f"{_MEGATRON}/core_v{tag}/{source}" if tag else source


def tagged(release: str) -> str:
    """The release whose tag a release's links go to; empty where there is none."""
    return _TAGS.get(release, release)


def beside(folder: str, source: str) -> str:
    """A place in the repository of a framework that is not in the framework's own folder.

    Args:
        folder: the first folder of the framework's paths: ``nemo_rl``.
        source: ``tools/config_cli.py#L500``.
    """
    return f"{_repositories()[folder]}/{source}"


def place(name: str, contract: Contract) -> str:
    """Where Megatron-Core's source has what a name in ``meaning_places.json`` stands for; a release that links to
    another's tag has that one's lines.
    """
    from ..schemas import meanings  # not needed to lint

    return meanings.place(name, tagged(contract.version)) or ""


def linked(text: str, contract: Contract) -> str:
    """A note in which each place in Megatron-Core's or a framework's source is a link.

    Args:
        text: the note.
        contract: the Megatron-Core in use.
    """

    def of(match: re.Match[str]) -> str:
        if match[0].startswith("megatron/core/"):
            return link(contract, match[0])
        base = _repositories().get(match[0].partition("/")[0])
        return f"{base}/{match[0]}" if base else match[0]

    return _PLACE.sub(of, text)


@lru_cache(maxsize=1)
def _repositories() -> dict[str, str]:
    """Where each framework's source is, at the commit that its schema cites, by the first folder of its paths."""
    found = {"omegaconf": _OMEGACONF}
    for name in sorted(os.listdir(_RECIPES)):
        with open(os.path.join(_RECIPES, name), encoding="utf-8") as stream:
            cited = json.load(stream).get("x-source", "")
        match = _CITED.search(cited)
        if match:
            base = f"https://github.com/{match['repository']}/blob/{match['commit']}"
            found[cited.partition("/")[0]] = base
    return found
