"""A comment that suppresses nothing. Off unless it is selected by its code.

What it does
    Reports ``# noqa: RCL...`` and ``# recompute-lint: disable=...`` whose codes suppress no finding of a rule that ran
    on the file. A ``# noqa`` without codes is left alone, since it may be meant for another tool.

Why is this bad
    The mistake that it suppressed is gone, and the next one of its kind will not be reported.

Use instead
    Delete it.

Fix
    Deletes the codes, or the comment where none is left (safe).

Options
    ``--extend-select RCL906``, or ``extend-select = ["RCL906"]`` in the configuration, turns it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..sources.model import Span
from .finding import Edit, Example, Finding, Fix

_ON = {"extend_select": ("RCL906",), "mcore": "0.16.1"}

VALID = (
    Example(
        'granularity = config.get("recompute_granularity", "full")  # noqa: RCL301\n', filename="a.py", options=_ON
    ),
    Example("granularity = None  # noqa: F841\n", filename="a.py", options=_ON),
    Example('text = "# noqa: RCL301"\n', filename="a.py", options=_ON),
)
INVALID = (
    Example(
        'granularity = config["recompute_granularity"]  # noqa: RCL301\n',
        (1,),
        filename="a.py",
        options=_ON,
        fixed='granularity = config["recompute_granularity"]\n',
    ),
    Example(
        'granularity = config["recompute_granularity"]  # noqa: E501, RCL301\n',
        (1,),
        filename="a.py",
        options=_ON,
        fixed='granularity = config["recompute_granularity"]  # noqa: E501\n',
    ),
    Example(
        "# recompute-lint: disable=modules-ignored\npolicy:\n  megatron_cfg:\n    activation_checkpointing: true\n",
        (1,),
        options=_ON,
        fixed="policy:\n  megatron_cfg:\n    activation_checkpointing: true\n",
    ),
)


class Comment(Protocol):
    """A comment; see :class:`recompute_lint.hooks.suppress.Comment`."""

    line: int
    start: int
    end: int
    codes_start: int
    codes: tuple[str, ...]


def report(path: str, text: str, comment: Comment, idle: Sequence[str]) -> Iterator[Finding]:
    """The finding for one comment.

    Args:
        path: the file.
        text: the line that the comment ends.
        comment: the comment.
        idle: its codes that suppress nothing.
    """
    span = Span(path, comment.line, comment.start + 1, comment.line, comment.end + 1)
    yield Finding(
        "RCL906", f"unused suppression of {', '.join(idle)}", span, "", "delete it", (), _fix(text, comment, idle)
    )


def _fix(text: str, comment: Comment, idle: Sequence[str]) -> Fix | None:
    here = Span("", comment.line, 1, comment.line, 1)
    kept = [token for token in comment.codes if token not in idle]
    if kept:
        codes = Span("", comment.line, comment.codes_start + 1, comment.line, comment.end + 1)
        return Fix("Delete the unused codes", (Edit(codes, ", ".join(kept)),), safe=True, changes=0)
    if text[comment.end :].strip():
        return None  # the rest of the comment says why
    before = text[: comment.start].rstrip()
    if not before:
        return Fix("Delete the comment", (Edit(here._replace(end_line=comment.line + 1), ""),), safe=True, changes=0)
    rest = here._replace(column=len(before) + 1, end_column=len(text) + 1)
    return Fix("Delete the comment", (Edit(rest, ""),), safe=True, changes=0)
