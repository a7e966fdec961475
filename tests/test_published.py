"""What people are told to install, today and on the day that the project is published."""

from __future__ import annotations

import json
import re
import subprocess
from importlib import metadata

import pytest

from recompute_lint import published
from tests.conftest import ROOT

FOLDER = {"url": "file:///home/me/my%20checkout", "dir_info": {"editable": True}}
COMMIT = {"url": "https://example.org/rl.git", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
NOTHING = "'.[lsp]' (in a checkout)"


@pytest.mark.parametrize(
    ("installed", "origin", "requirement"),
    [
        (FOLDER, ("/home/me/my checkout", ""), "'/home/me/my checkout[lsp]'"),
        (COMMIT, ("https://example.org/rl.git", "abc123"),
         "'recompute-lint[lsp] @ git+https://example.org/rl.git@abc123'"),
        ({"url": "file:///tmp/x.whl", "archive_info": {}}, ("", ""), NOTHING),
        (None, ("", ""), NOTHING),
    ],
    ids=["a checkout", "a commit", "a wheel", "not known"],
)  # fmt: skip
def test_what_this_copy_was_installed_from(monkeypatch, installed, origin, requirement):
    class Distribution:
        version = "1.2.3"

        def read_text(self, name: str) -> str | None:
            return json.dumps(installed) if installed and name == "direct_url.json" else None

    monkeypatch.setattr(metadata, "distribution", lambda name: Distribution())
    assert published.origin() == origin
    assert published.requirement("lsp") == requirement
    monkeypatch.setattr(published, "REPOSITORY", "https://example.org/ours")
    assert published.requirement("lsp") == "'recompute-lint[lsp] @ git+https://example.org/ours@v1.2.3'"
    monkeypatch.setattr(published, "ON_PYPI", True)
    assert published.requirement("lsp") == "'recompute-lint[lsp]'"
    assert published.requirement() == "'recompute-lint'"


def test_no_page_tells_to_install_a_name_that_is_not_ours(monkeypatch):
    """A name that is not registered could be anybody's tomorrow."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    monkeypatch.undo()
    told = [
        f"{name}: {match[0]}"
        for name in filter(None, listed.split("\0"))
        if not name.startswith("tests/") and (ROOT / name).is_file()
        for match in re.finditer(
            r"(?:(?:pip3?|pipx|uv tool) install|pipx run|uvx)(?: -[-\w]+)* ['\"]?recompute-lint\b(?![^\n]*@ )[^\n]*",
            (ROOT / name).read_text(encoding="utf-8", errors="replace"),
        )
    ]
    assert published.ON_PYPI or told == []


def test_readmes_links_survive_on_a_package_index():
    from tools.update_readme import with_links

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    new = with_links(text, "https://example.org/blob/v1/")
    assert "](https://example.org/blob/v1/docs/contract.md)" in new
    assert not re.search(r"\]\((?!https://|#)", new)
    assert with_links(new, "https://example.org/") == new


PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", *(
    str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_what_pages_link_to_is_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?![a-z]+:)([^)\s]*)\)", re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", text)):
        name, _, anchor = target.partition("#")
        linked = (ROOT / page).parent / name if name else ROOT / page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            headings = re.findall(r"(?m)^#+ (.*)$", linked.read_text(encoding="utf-8"))
            assert anchor in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings], (
                target
            )


def test_the_day_of_publication_changes_readme_by_itself(monkeypatch):
    from tools import update_readme

    text = update_readme.updated((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "PATH_OR_ADDRESS_OF_A_CLONE" in text
    monkeypatch.setattr(published, "REPOSITORY", "https://example.org/ours")
    new = update_readme.updated(text)
    assert "PATH_OR_ADDRESS" not in new and "  - repo: https://example.org/ours\n    rev: v" in new
    monkeypatch.setattr(published, "ON_PYPI", True)
    assert "$ pip install recompute-lint\n" in update_readme.updated(text)
