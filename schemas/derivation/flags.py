"""The flags of Megatron-LM's argument parser that concern recomputation and are no fields of ``TransformerConfig``."""

from __future__ import annotations

import ast
import os
import re

#: The parser; wheels have it from 0.17.0 on.
_PARSER = os.path.join("megatron", "training", "arguments.py")
_NAMED_SO = re.compile(r"--(?:[\w]+-)*recompute(?:-[\w]+)*")
_NO_LONGER = re.compile(r"(--[\w-]+) is no longer valid, use --recompute-")


def flags_of(root: str | os.PathLike[str], fields: set[str]) -> list[str]:
    """The flags that are named for recomputation, and those that the parser says one of these replaces.

    Args:
        root: the folder that holds ``megatron``.
        fields: the recompute fields, whose flags are left out.

    Returns:
        Their names as the parser stores them, with underscores, in the order of the source; none where the tree has no
        parser.
    """
    try:
        with open(os.path.join(root, _PARSER), encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError):
        return []
    declared: list[str] = []
    replaced: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(value=str() as flag), *_]):
                declared.append(flag)
            case ast.Constant(value=str() as text):
                replaced.update(match[1] for match in _NO_LONGER.finditer(text))
    wanted = [flag for flag in declared if flag in replaced or _NAMED_SO.fullmatch(flag)]
    names = [flag.removeprefix("--").replace("-", "_") for flag in wanted]
    return [name for name in dict.fromkeys(names) if name not in fields]
