"""Where Python nests too deeply for libcst, which overflows the stack there instead of giving up."""

from __future__ import annotations

import re

#: So many nodes may stand in each other; real programs, but for tables of strings that are joined, stay far below.
DEEPEST = 200
#: What a bracket in a pattern counts for: libcst takes seven times as long for each that stands in another.
_PATTERN = 25
#: F-strings that stand in each other.
_MOST_STRINGS = 20

_TOKEN = re.compile(
    r"""
      \#[^\r\n]*
    | \\(?:\r\n|[\r\n])
    | (?P<newline> (?:\r\n|[\r\n]) )
    | (?P<string> (?P<prefix>(?<!\w)[A-Za-z]{0,2}) (?:
        (?P<triple>\"{3}|'{3}) (?P<long>(?:[^\\]|\\.)*?) (?:(?P=triple)|\Z)
      | (?P<quote>["']) (?P<short>(?:[^\\\r\n]|\\(?:\r\n|.))*?) (?:(?P=quote)|(?=[\r\n])|\Z)
      ) )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<comma> [,;] )
    | (?P<operator> \*\*|//|<<|>>|[-+*/%@&|^~.] | \b(?:and|await|for|if|lambda|not|or|yield)\b )
    | (?P<word> \d[\w.]* | \w+ )
    """,
    re.VERBOSE | re.DOTALL,
)
#: The expressions in an f-string, each with at most one level of braces of its own: those of its format.
_EXPRESSION = re.compile(r"\{((?:[^{}]|\{[^{}]*\})*)\}")


def first_too_deep(text: str, deepest: int = DEEPEST) -> int | None:
    """Where ``text`` nests too deeply, estimated without parsing it: never too low, and hardly too high.

    Within an expression brackets, operators, conditions and strings that are joined count; around it blocks, and chains
    of ``elif``, each of which stands in the one before.

    Args:
        text: Python, which may be broken.
        deepest: how many nodes may stand in each other.

    Returns:
        An index, or None.
    """
    return _scan(text, deepest, 0)


def _scan(text: str, deepest: int, strings: int) -> int | None:
    blocks: list[list[int]] = []  # of each block its indentation, and how many elif are in a row
    chains = [0]  # how far the operators nest in each bracket that is open
    is_start, is_pattern, after_string = True, False, False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is None:
            continue
        if is_start and kind != "newline":
            is_start, is_pattern = False, match[0] == "case"
            _enter(blocks, text, match)
        was_string, after_string = after_string, kind == "string" or (after_string and kind == "newline")
        if kind == "operator":
            chains[-1] += 1
        elif kind == "open":
            chains.append(_PATTERN if is_pattern else 1)
        elif kind == "close":
            if len(chains) > 1:
                chains.pop()
            chains[-1] += 1
        elif kind == "comma":
            chains[-1] = min(chains[-1], _PATTERN if is_pattern else 1)
        elif kind == "string":
            chains[-1] += was_string
        elif kind == "newline" and len(chains) == 1:
            chains, is_start, after_string = [0], True, False
            continue
        depth = sum(chains) + sum(1 + chain for _, chain in blocks)
        if depth > deepest or (kind == "string" and _is_deep_string(match, deepest - depth, strings)):
            return match.start()
    return None


def _enter(blocks: list[list[int]], text: str, match: re.Match[str]) -> None:
    """Take note of the block that the statement beginning at ``match`` stands in."""
    indent = match.start() - max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) - 1
    while blocks and blocks[-1][0] > indent:
        blocks.pop()
    if not blocks or blocks[-1][0] < indent:
        blocks.append([indent, 0])
    elif match[0] == "elif":
        blocks[-1][1] += 1
    elif match[0] != "else":
        blocks[-1][1] = 0


def _is_deep_string(match: re.Match[str], deepest: int, strings: int) -> bool:
    """Whether the expressions in a string, where it is one that holds any, nest deeper than they may."""
    if not {"f", "t"} & set(match["prefix"].lower()):
        return False
    content = match["long"] or match["short"] or ""
    if strings == _MOST_STRINGS and "{" in content:
        return True
    return any(_scan(part, deepest, strings + 1) is not None for part in _EXPRESSION.findall(content))
