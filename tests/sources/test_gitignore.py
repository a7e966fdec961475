"""The screen before pathspec leaves out nothing that pathspec has a word on."""

import os
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from recompute_lint.sources.gitignore import Ignore

NAMES = st.text("ab.!#[]^-*? \\", min_size=1, max_size=5)
PATHS = st.lists(st.text("ab.!#[]^- ", min_size=1, max_size=4), min_size=1, max_size=3).filter(
    lambda parts: not {".", ".."}.intersection(parts)
)
PATTERNS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "!", "/", "!/", " "]),
    st.lists(NAMES | st.just("**"), min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "/", "/**", "/*"]),
    st.sampled_from(["", " ", "\t"]),
)


def _is_pattern(line):
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


@pytest.mark.filterwarnings("ignore::FutureWarning")
@settings(max_examples=1000)
@given(st.lists(PATTERNS, min_size=1, max_size=3), PATHS, st.booleans())
def test_the_verdict_is_pathspecs(lines, parts, is_folder):
    spec = GitIgnoreSpec.from_lines(filter(_is_pattern, lines))
    relative = "/".join(parts)
    expected = spec.check_file(relative + "/" if is_folder else relative).include
    assert Ignore("/root", lines).verdict(os.path.join("/root", *parts), is_folder) == expected


def test_what_is_no_pattern_is_passed_over_as_git_does():
    ignore = Ignore("/root", ["!", "[z-a]", "end\\", "*.yaml"])
    assert ignore.verdict("/root/a.yaml", False) is True


def test_pathspec_stays_out_where_no_pattern_has_the_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pathspec", None)  # importing it fails
    ignore = Ignore("/root", ["*.py[cod]", "build/", "!/docs/_build/", "__pycache__"])
    assert ignore.verdict("/root/recipes/a.yaml", False) is None
    assert ignore.verdict("/root/recipes", True) is None
