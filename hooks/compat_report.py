"""The table of recipes and releases: by verdict for people, as a table, as data, and as a page with a matrix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from ..sources.visible import visible

#: The verdict where nothing is rejected.
OK = "ok"


class Cell(NamedTuple):
    """What one release makes of a recipe."""

    #: The code of the first error, or :data:`OK`.
    verdict: str
    message: str = ""
    #: Where the error is.
    line: int = 0


class Row(NamedTuple):
    """One recipe."""

    file: str
    #: By release.
    cells: dict[str, Cell]
    #: The release that its project uses, and what that makes of it.
    used: str
    in_use: Cell
    #: Where the release in use is from.
    because: str


def as_text(rows: Sequence[Row], releases: Sequence[str], *, all: bool) -> str:
    """Groups of recipes with the same verdicts, the largest first, with what is wrong."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_verdict(row, releases), []).append(row)
    parts = []
    for verdict, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines = [f"{len(members)} file{'s' * (len(members) != 1)}: {verdict}"]
        said = {cell.verdict: cell.message for cell in reversed(members[0].cells.values()) if cell.message}
        lines.extend(f"    {code}: {visible(message)}" for code, message in said.items())
        if verdict != _always(OK) or all:
            lines.extend(f"  {visible(row.file)}{_failing(row)}" for row in members)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _failing(row: Row) -> str:
    return "" if row.in_use.verdict == OK else f"  <-- {row.in_use.verdict} in {row.used}, the release in use"


def _always(verdict: str) -> str:
    return f"{verdict} in every release"


def _verdict(row: Row, releases: Sequence[str]) -> str:
    """The verdicts in words: ``ok, but 0.18.2 RCL112``; ``RCL113 to 0.11.0, ok from 0.12.3``."""
    runs = [
        (verdict, [release for _, release in members])
        for verdict, members in groupby(((row.cells[name].verdict, name) for name in releases), lambda pair: pair[0])
    ]
    if len(runs) == 1:
        return _always(runs[0][0])
    wrong = [(verdict, names) for verdict, names in runs if verdict != OK]
    if len(runs) > 2 and len(wrong) * 2 <= len(runs) + 1 and sum(len(names) for _, names in wrong) * 2 < len(releases):
        return f"{OK}, but {', '.join(f'{_span(names)} {verdict}' for verdict, names in wrong)}"
    said = []
    for index, (verdict, names) in enumerate(runs):
        if index == 0:
            said.append(f"{verdict} to {names[-1]}")
        elif index == len(runs) - 1:
            said.append(f"{verdict} from {names[0]}")
        else:
            said.append(f"{verdict} in {_span(names)}")
    return ", ".join(said)


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def as_markdown(rows: Sequence[Row], releases: Sequence[str]) -> str:
    """A table; the release in use is in bold."""
    table = [["recipe", *releases], ["---"] * (len(releases) + 1)]
    for row in rows:
        cells = [row.cells[name].verdict for name in releases]
        marked = [f"**{cell}**" if name == row.used else cell for name, cell in zip(releases, cells, strict=True)]
        table.append([visible(row.file).replace("|", "\\|"), *marked])
    return "".join(f"| {' | '.join(row)} |\n" for row in table)


def as_json(rows: Sequence[Row]) -> str:
    """An array with an object for each recipe; the code and the message are null where a release takes it."""
    return (
        json.dumps(
            [
                {
                    "file": row.file,
                    "in_use": {"release": row.used, "because": row.because, **_data(row.in_use)},
                    "releases": {name: _data(cell) for name, cell in row.cells.items()},
                }
                for row in rows
            ],
            indent=2,
        )
        + "\n"
    )


def _data(cell: Cell) -> dict[str, object]:
    if cell.verdict == OK:
        return {"ok": True, "code": None, "message": None, "line": None}
    return {"ok": False, "code": cell.verdict, "message": cell.message, "line": cell.line}


#: A path that is too long is cut at its beginning: its end tells it from others.
_STYLE = """
:root { color-scheme: light dark; --ok: #d7f0dd; --bad: #f8d0cc; --line: #8886; --mark: #2962ff; --back: #fff; }
@media (prefers-color-scheme: dark) { :root { --ok: #1d4a2b; --bad: #6b2620; --back: #161616; --mark: #82aaff; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem; background: var(--back); }
.scroll { overflow-x: auto; padding-bottom: 7rem; }
table { border-collapse: separate; border-spacing: 2px; }
th { font-weight: 600; text-align: left; padding: .15rem .5rem; white-space: nowrap; }
.scroll th[scope=row], .scroll th:first-child { position: sticky; left: 0; z-index: 1; background: var(--back); }
th[scope=row] { font: 13px ui-monospace, monospace; max-width: 45vw; overflow: hidden; text-overflow: ellipsis;
  direction: rtl; text-align: left; }
th[scope=row]::before, th[scope=row]::after { content: "\\200e"; }
@media (max-width: 50rem) { th[scope=row] { max-width: 38vw; } }
td { position: relative; min-width: 3.6rem; padding: .15rem .3rem; text-align: center; border-radius: 3px; }
tbody td { font-size: 13px; }
td.ok { background: var(--ok); }
td.bad { background: var(--bad); font-weight: 600; cursor: help; }
td.used { outline: 2px solid var(--mark); outline-offset: -1px; }
td span { display: none; position: absolute; z-index: 2; top: 100%; right: 0; width: max-content; max-width: 26rem;
  padding: .4rem .6rem; border: 1px solid var(--line); border-radius: 4px; background: var(--back); text-align: left;
  font-weight: 400; box-shadow: 0 2px 8px #0004; }
td:nth-child(-n+6) span { left: 0; right: auto; }
td:hover span, td:focus span { display: block; }
@media (max-width: 50rem) { td span, td:nth-child(-n+6) span { position: fixed; top: auto; bottom: 1rem; left: 1rem;
  right: 1rem; width: auto; max-width: none; } }
.legend td { min-width: 2rem; }
"""


def as_html(rows: Sequence[Row], releases: Sequence[str]) -> str:
    """A page that needs nothing else: a matrix, with what is wrong on hovering over a cell, or with the focus on it."""
    newest_first = releases[::-1]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in newest_first)
    body = "\n".join(
        f'<tr><th scope="row" title="{escape(visible(row.file))}">{escape(visible(row.file))}</th>'
        f"{''.join(_cell(row.cells[name], name, row) for name in newest_first)}</tr>"
        for row in sorted(rows, key=lambda row: ([row.cells[name].verdict for name in newest_first], row.file))
    )
    failing = sum(row.in_use.verdict != OK for row in rows)
    listed = f"{len(rows)} recipe{'s' * (len(rows) != 1)}, {len(releases)} release{'s' * (len(releases) != 1)}"
    count = f"{listed}; rejected by the release in use: {failing}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Recipes and megatron-core releases</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>Recipes and megatron-core releases</h1>\n<p>{count}.</p>\n"
        '<table class="legend"><tr><td class="ok">ok</td><td class="bad">RCL…</td><td class="used">in use</td>'
        "<td>the first error; its message on hovering</td></tr></table>\n"
        f'<div class="scroll">\n<table>\n<thead><tr><th scope="col">recipe</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>\n</body>\n</html>\n"
    )


def _cell(cell: Cell, release: str, row: Row) -> str:
    used = " used" if release == row.used else ""
    if cell.verdict == OK:
        return f'<td class="ok{used}">{OK}</td>'
    said = escape(visible(f"{release}, line {cell.line}: {cell.message}"))
    return f'<td class="bad{used}" tabindex="0">{cell.verdict}<span role="tooltip">{said}</span></td>'
