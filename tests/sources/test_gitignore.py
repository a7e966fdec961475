"""The screen before pathspec leaves out nothing that pathspec has a word on."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from recompute_lint.sources.files import walk
from recompute_lint.sources.gitignore import Ignore
from tests.conftest import write

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


@pytest.mark.parametrize(
    ("pattern", "ignored"), [("a" * 255, True), ("a" * 256, None), ("*a*aa*", True), ("*a*a*a*", None), ("a***a", True)]
)
def test_a_pattern_that_may_take_without_end_is_passed_over(pattern, ignored):
    assert Ignore("/root", [pattern]).verdict("/root/" + "a" * len(pattern), False) is ignored
    assert Ignore("/root", [f"x/{pattern}"]).verdict("/root/x/" + "a" * len(pattern), False) is ignored


def test_pathspec_stays_out_where_no_pattern_has_the_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pathspec", None)  # importing it fails
    ignore = Ignore("/root", ["*.py[cod]", "build/", "!/docs/_build/", "__pycache__"])
    assert ignore.verdict("/root/recipes/a.yaml", False) is None
    assert ignore.verdict("/root/recipes", True) is None


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a file that only patterns outside it name, and a home of its own."""
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    write(work, {"a.yaml": "", "scratch/b.yaml": "", "sub/scratch.yaml": ""})
    git(work, "init", "-q")
    return work


def walked(folder):
    """What is linted below a folder, and what git would list there."""
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--cached", "--exclude-standard", "*.yaml"],
        cwd=folder, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    found = [os.path.relpath(path, folder) for path in walk([str(folder)], lambda path: False)]
    assert found == sorted(listed)
    return found


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("work/.git/info/exclude", "scratch*\n", ["a.yaml"]),
        ("work/.git/info/exclude", "/scratch/\n", ["a.yaml", "sub/scratch.yaml"]),
        ("home/.config/git/ignore", "scratch*\n", ["a.yaml"]),
        ("home/mine", "scratch\n", ["a.yaml", "sub/scratch.yaml"]),
    ],
)
@pytest.mark.parametrize("value", ["~/mine", '"~/mine" # mine', "../home/mine"])
def test_what_git_reads_beside_gitignore(repository, name, text, left, value):
    if name == "home/mine":
        write(repository.parent, {"home/.gitconfig": f"[user]\n\tname = x\n[Core]\n\texcludesFile = {value}\n"})
    write(repository.parent, {name: text})
    assert walked(repository) == left


def test_gitignore_goes_before_info_exclude_and_that_before_the_users_own(repository):
    write(repository.parent, {
        "home/.config/git/ignore": "a.yaml\nscratch.yaml\nb.yaml\n",
        "work/.git/info/exclude": "!a.yaml\n!b.yaml\n",
        "work/scratch/.gitignore": "b.yaml\n",
    })  # fmt: skip
    assert walked(repository) == ["a.yaml"]


def test_a_second_working_tree_shares_them(repository):
    write(repository, {".git/info/exclude": "scratch*\n"})
    git(repository, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "worktree", "add", "-q", "../second")
    second = repository.parent / "second"
    write(second, {"a.yaml": "", "scratch/b.yaml": ""})
    assert walked(second) == ["a.yaml"]


def test_an_empty_name_is_none(repository):
    write(repository.parent, {"home/.config/git/ignore": "a.yaml\n", "home/.gitconfig": "[core]\nexcludesFile =\n"})
    assert len(walked(repository)) == 3
