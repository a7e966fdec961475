"""How far the linter agrees with each framework, from the tables and from the list of what differs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from . import table

DIFFERENCES = table.TABLES.parent / "differences.yaml"
DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "loaders.md"
_BEGIN, _END = "<!-- agreement -->\n", "<!-- end of agreement -->\n"


def listed(name: str, what: str) -> dict[str, int]:
    """By row, the kind of each difference of a framework that is known; ``what`` is ``generated`` or ``shipped``."""
    entries: list[dict[str, Any]] = yaml.safe_load(DIFFERENCES.read_text()) or []
    return {row: entry["kind"] for entry in entries for row in entry.get(what, {}).get(name, "").split()}


def prune(name: str, differing: set[str]) -> list[str]:
    """Take the generated inputs of a framework that agree by now out of the list; returns them.

    Args:
        name: the framework.
        differing: the inputs that still differ.
    """
    head = "".join(line for line in DIFFERENCES.read_text().splitlines(True) if line.startswith("#"))
    gone: list[str] = []
    kept: list[dict[str, Any]] = []
    for entry in yaml.safe_load(DIFFERENCES.read_text()) or []:
        rows = entry.get("generated", {})
        names = rows.pop(name, "").split()
        gone += [row for row in names if row not in differing]
        if left := [row for row in names if row in differing]:
            rows[name] = " ".join(left)
        if not rows:
            entry.pop("generated", None)
        if entry.keys() & {"generated", "shipped"}:
            kept.append(entry)
    DIFFERENCES.write_text(head + yaml.safe_dump(kept, sort_keys=False, width=128, allow_unicode=True))
    return gone


def markdown(names: Iterable[str]) -> str:
    """The table for people, with the kinds below it."""
    lines = [
        "| framework | commit | generated | refused | equal | different, by kind | shipped | equal | different "
        "| not run |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    totals = [0, 0, 0, 0]
    for name in names:
        rows = table.read(name)
        cells = [f"{rows['repository']}", f"`{rows['commit'][:12]}`"]
        for at, what in enumerate(("generated", "shipped")):
            known = listed(name, what)
            count = len(rows[what])
            totals[2 * at] += count
            totals[2 * at + 1] += count - len(known)
            refused = [f"{sum('refused' in row for row in rows[what])}"] if what == "generated" else []
            cells += [f"{count}", *refused, f"{count - len(known)}", _by_kind(known)]
        cells.append(f"{len(rows['not_run'])}")
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(f"| all | | {totals[0]} | | {totals[1]} | | {totals[2]} | {totals[3]} | | |")
    entries = yaml.safe_load(DIFFERENCES.read_text()) or []
    lines += ["", "| kind | what it is |", "|---|---|"] if entries else []
    lines += [f"| {entry['kind']} | {entry['reason'].replace('|', chr(92) + '|')} |" for entry in entries]
    return "\n".join(lines) + "\n"


def _by_kind(known: dict[str, int]) -> str:
    kinds = sorted(set(known.values()))
    return ", ".join(f"{list(known.values()).count(kind)} of kind {kind}" for kind in kinds) or "0"


def documented() -> str:
    """The table that ``docs/loaders.md`` has."""
    return DOCS.read_text().partition(_BEGIN)[2].partition(_END)[0]


def document(names: Iterable[str]) -> None:
    """Write the table into ``docs/loaders.md``."""
    before, _, rest = DOCS.read_text().partition(_BEGIN)
    DOCS.write_text(before + _BEGIN + markdown(names) + _END + rest.partition(_END)[2])
