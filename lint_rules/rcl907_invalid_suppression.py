"""A comment that is meant to suppress findings, and cannot.

What it does
    Reports ``# recompute-lint: disable=...`` and ``# noqa: RCL...`` with a code or a name that no rule has, a
    misspelled ``disable``, ``disable-next-line`` or ``enable``, and a ``disable`` on a line of its own in the middle of
    a file that no ``enable`` ends.

Why is this bad
    It suppresses nothing, and nothing else says so.

Use instead
    The rule's code or name, as ``recompute-lint explain`` lists them. On a line of its own, ``disable-next-line=``, or
    ``disable=`` with an ``enable=`` below.

Fix
    The nearest name or code (unsafe: only the author knows which rule was meant).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..sources.model import Span
from ..sources.suggest import nearest
from .finding import Edit, Example, Finding, Fix
from .rcl906_unused_suppression import Comment
from .registry import RULES

VALID = (
    Example('granularity = config.get("recompute_granularity", "full")  # noqa: RCL301\n', filename="a.py"),
    Example('text = "# recompute-lint: disable=hidden-defualt"\n', filename="a.py"),
    Example("granularity = None  # noqa: F841, E999\n", filename="a.py"),
    Example(
        "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
        "    # recompute-lint: disable=RCL101\n    recompute_granularity: selectiv\n"
        "    # recompute-lint: enable=RCL101\n"
    ),
)
INVALID = (
    Example(
        'granularity = config["recompute_granularity"]  # recompute-lint: disable=hidden-defualt\n',
        (1,),
        filename="a.py",
        fixed='granularity = config["recompute_granularity"]  # recompute-lint: disable=hidden-default\n',
    ),
    Example('granularity = config["recompute_granularity"]  # noqa: RCL999\n', (1,), filename="a.py"),
    Example("policy:\n  megatron_cfg:\n    # recompute-lint: disable=RCL101\n    recompute_granularity: full\n", (3,)),
    Example("a: 1  # recompute-lint: disabel=RCL101\n", (1,)),
)

_DIRECTIVES = ("disable", "disable-next-line", "enable")


def of_codes(path: str, text: str, comment: Comment, unknown: Sequence[str]) -> Iterator[Finding]:
    """A finding for each code or name that no rule has.

    Args:
        path: the file.
        text: the line of the comment.
        comment: the comment.
        unknown: those of its codes.
    """
    known = {name: name for code, rule in RULES.items() for name in (code, rule.name)}
    for token in unknown:
        at = text.upper().find(token.upper(), comment.codes_start)
        span = Span(path, comment.line, at + 1, comment.line, at + len(token) + 1)
        close = nearest(token, known)
        yield Finding(
            "RCL907",
            f"{token} is not a rule's code, the beginning of one, or a name",
            span,
            help=f"did you mean {close}?" if close else "'recompute-lint explain' lists the rules",
            fix=Fix(f"Write {close}", (Edit(span, close),), safe=False, changes=0) if close else None,
        )


def of_block(path: str, comment: Comment) -> Finding:
    """The finding for a ``disable`` in the middle of a file that nothing ends."""
    codes = ",".join(comment.codes)
    return Finding(
        "RCL907",
        f"disable={codes} on a line of its own suppresses nothing here: no enable={codes} ends it",
        Span(path, comment.line, comment.start + 1, comment.line, comment.end + 1),
        help=f"write disable-next-line={codes}, or add '# recompute-lint: enable={codes}' below",
    )


def of_word(path: str, line: int, column: int, word: str) -> Iterator[Finding]:
    """The finding for a directive that there is not; none for prose that only begins like one.

    Args:
        path: the file.
        line: where the comment is, from 1.
        column: where the word is, from 0.
        word: the word behind ``recompute-lint:``.
    """
    close = None if word in _DIRECTIVES else nearest(word, _DIRECTIVES)
    if close:
        yield Finding(
            "RCL907",
            f"unknown directive {word}: it suppresses nothing",
            Span(path, line, column + 1, line, column + len(word) + 1),
            help=f"did you mean {close}=CODES?",
        )
