"""Searches that are written so as to be fast find what plain ones would."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from recompute_lint.lint_rules.module_lists import naming
from recompute_lint.schemas.names import MODULES
from recompute_lint.sources.dialects import python_flags
from recompute_lint.sources.keys import WORDLESS

NAMES = frozenset(MODULES)
PARTS = [*MODULES, "_", "-", ".", " ", ",", "x", "\n", "é"]
PLAIN = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(MODULES, key=len, reverse=True))})(?![\w-])")


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
@example("moe_act")
@example("x.moe, moe_act moe")
@example("moemoe_act")
def test_the_names_of_modules(text):
    assert [match.span() for match in naming(NAMES).finditer(text)] == [match.span() for match in PLAIN.finditer(text)]


WORDS = ["--", "-", "recompute", "_granularity", "=", ".", "a", "\n", "--checkpoint-activations", *WORDLESS]


@given(st.lists(st.sampled_from(WORDS), max_size=10).map("".join))
@example("model.recompute_method=x")
@example("a.activations_checkpoint_method=x")
def test_lines_with_flags_in_python(text):
    assert python_flags._has_needle(text) == (python_flags._NEEDLES.search(text) is not None)
