"""Whether a file with fixes is still what it was, but for what they change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..lint_rules.finding import Fix
from ..sources.files import kind_of
from ..sources.python import tree as python
from ..sources.yaml.tree import parse, to_python
from .diagnostics import Diagnostic

#: What a setting of ours has in its name, or a misspelling of one.
_OURS = re.compile(r"recom|activation|checkpoint", re.IGNORECASE)


def is_sound(path: str, before: str, after: str, fixed: Sequence[Diagnostic]) -> bool:
    """Whether fixes did no more than their rules promise.

    YAML must have the same values everywhere else, whatever refers to what. Python must have the same tree but for what
    is rewritten, which must be what its rule promises, and for text that is replaced within strings or as a keyword's
    name. A script must have as many lines as before, or fewer where suppressions went.

    Args:
        path: the file.
        before: its text.
        after: its text with the fixes.
        fixed: the findings that they are for, with the edits that were made.
    """
    fixes = [diagnostic.fix for diagnostic in fixed if diagnostic.fix is not None]
    kind = kind_of(path, before.encode("utf-8", "replace")) or "yaml"
    if kind in ("yaml", "json"):
        return _is_same_yaml(path, before, after, sum(fix.changes for fix in fixes))
    if kind == "python":
        return _is_same_python(path, before, after, fixes)
    comments = sum(fix.changes == 0 for fix in fixes)
    return before.count("\n") - comments <= after.count("\n") <= before.count("\n")


def _is_same_python(path: str, before: str, after: str, fixes: list[Fix]) -> bool:
    old, new = python.parse(path, before), python.parse(path, after)
    if not isinstance(old, python.Python) or not isinstance(new, python.Python):
        return not isinstance(old, python.Python)
    from ..sources.python.comparison import is_same

    edits = [edit.span for fix in fixes if fix.rewrite is None for edit in fix.edits]
    return is_same(old, new, [fix.rewrite for fix in fixes if fix.rewrite is not None], edits)


def _is_same_yaml(path: str, before: str, after: str, changes: int) -> bool:
    old, problems = parse(before, path)
    new, problems_now = parse(after, path)
    wrong = Counter(problem.rule for problem in problems)
    if Counter(problem.rule for problem in problems_now) - wrong or len(old) != len(new):
        return False
    left, right = (dict(_flat([to_python(root) for root in roots], ())) for roots in (old, new))
    differing = {
        _setting(place)
        for place in left.keys() | right.keys()
        if place not in left or place not in right or _differ(left[place], right[place])
    }
    return None not in differing and len(differing) <= changes


def _differ(left: Any, right: Any) -> bool:
    return type(left) is not type(right) or left != right


def _flat(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every leaf of plain data with its place; an empty collection is a leaf."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from _flat(child, (*place, key))
    elif isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from _flat(child, (*place, index))
    else:
        yield place, value


def _setting(place: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The place of the setting that a leaf belongs to; None where it belongs to no setting of ours."""
    for end, part in enumerate(place, 1):
        if isinstance(part, str) and _OURS.search(part):
            return place[:end]
    return None
