"""The page of a recompute module or field: what is recomputed, when it helps, in which releases, and what it needs."""

from __future__ import annotations

import textwrap
from typing import Any

from ..schemas import store
from ..schemas.contract import Contract, Guard
from ..schemas.meanings import Meaning, releases, sources
from ..schemas.messages import plain
from .links import link, tagged
from .registry import RULES, find

_HEADINGS = {
    "recomputed": "What is recomputed",
    "kept": "What is kept for the backward pass",
    "freed": "What is freed",
    "helps": "When it helps",
    "useless": "When it does not",
}


def data(meant: Meaning, contract: Contract) -> dict[str, Any]:
    """The page for JSON.

    Args:
        meant: what the module or field does.
        contract: the release to link to, and whose checks are listed.
    """
    first, last = releases(meant)
    return {
        "name": meant.name,
        "kind": f"recompute {meant.kind}",
        "summary": meant.summary,
        **{part: getattr(meant, part) for part in _HEADINGS},
        "since": first,
        "until": last or None,
        "megatron_core": contract.version,
        "checks": [
            {
                "code": find(guard.rule).code,
                "message": plain(guard.message),
                "url": link(contract, guard.source),
            }
            for guard in _checks(meant, contract)
        ],
        "sources": [link(contract, place) for place in sources(meant, tagged(contract.version))],
    }


def page(meant: Meaning, contract: Contract) -> str:
    """The page for a terminal; see :func:`data`."""
    found = data(meant, contract)
    parts = [f"{meant.name} ({found['kind']}, megatron-core {_range(found)})", meant.summary]
    parts.extend(_part(heading, [getattr(meant, part)]) for part, heading in _HEADINGS.items())
    checks = [f"{check['code']} {RULES[check['code']].name}: {check['message']}" for check in found["checks"]]
    if checks:
        parts.append(_part("What is rejected", checks))
    links = [f"    {place}" for place in found["sources"]]
    if links:
        parts.append("\n".join([f"Source\n    megatron-core {contract.version}:", *links]))
    return "\n\n".join(parts) + "\n"


def markdown(meant: Meaning, contract: Contract) -> str:
    """The page as Markdown; see :func:`data`."""
    found = data(meant, contract)
    parts = [f"# {meant.name}", meant.summary, f"A {found['kind']} of megatron-core {_range(found)}."]
    parts.extend(f"## {heading}\n\n{getattr(meant, part)}" for part, heading in _HEADINGS.items())
    checks = [f"* {one['code']} {RULES[one['code']].name}: [{one['message']}]({one['url']})" for one in found["checks"]]
    if checks:
        parts.append("\n".join(["## What is rejected\n", *checks]))
    links = [f"* <{place}>" for place in found["sources"]]
    if links:
        parts.append("\n".join([f"## Source\n\nMegatron-Core {contract.version}:\n", *links]))
    return "\n\n".join(parts) + "\n"


def contract_for(meant: Meaning) -> Contract:
    """The newest release that has the module or field."""
    return store.load(releases(meant)[1] or store.releases()[-1])


def _range(found: dict[str, Any]) -> str:
    return f"{found['since']} to {found['until']}" if found["until"] else f"{found['since']} and newer"


def _part(heading: str, lines: list[str]) -> str:
    wrapped = [textwrap.fill(line, 110, initial_indent="    ", subsequent_indent="    ") for line in lines]
    return "\n".join([heading, *wrapped])


def _checks(meant: Meaning, contract: Contract) -> list[Guard]:
    """The checks of a release that are about a module by its name, or about a field; each message once."""
    if meant.kind == "module":
        found = [guard for guard in contract.guards if meant.name in guard.items]
    else:
        found = [guard for guard in contract.guards if guard.field == meant.name and not guard.items]
    return list({guard.message: guard for guard in found}.values())
