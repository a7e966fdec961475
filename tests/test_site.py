"""The site: every rule, module and release has a page, and a link that leads nowhere fails the build."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from recompute_lint import published
from recompute_lint.hooks.cli import main
from recompute_lint.lint_rules.registry import RULES
from recompute_lint.schemas import meanings, store
from tests.browser import CHROMIUM, dom
from tools import make_site

pytest.importorskip("material")


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setattr(make_site, "SITE", tmp_path / "site")
    return lambda *options: make_site.main(list(options))


def test_it_is_built_with_a_page_for_each(build, tmp_path):
    assert build() == 0
    html = tmp_path / "site/html"
    for code in RULES:
        assert (html / "rules" / code.lower() / "index.html").is_file()
    for name in meanings.names():
        assert (html / "modules" / name / "index.html").is_file()
    for release in store.newest_of_each_series(store.releases()):
        assert (html / "contracts" / release / "index.html").is_file()
    page = (html / "rules/rcl106/index.html").read_text(encoding="utf-8")
    assert "Such checks exist since" in page and "recompute-lint contract show" in page
    page = (html / "contracts/0.12.3/index.html").read_text(encoding="utf-8")
    allowed = "{'core_attn', 'moe_act', 'layernorm', 'mla_up_proj', 'mlp', 'moe'}"
    # once in the table, and once in what changed
    assert unescape(page).count(f"set(recompute_modules) - {allowed}</code>") == 2


def test_a_link_that_leads_nowhere_fails_it(build, tmp_path, monkeypatch):
    linked = make_site._linked

    def with_a_dead_link(page, docs):
        return linked(page, docs) + ("\n[gone](#nowhere)\n" if page.name == "how.md" else "")

    monkeypatch.setattr(make_site, "_linked", with_a_dead_link)
    assert build() == 1


def test_links_to_files_of_the_repository(build, tmp_path, monkeypatch):
    build("--no-build")
    page = (tmp_path / "site/docs/index.md").read_text(encoding="utf-8")
    assert "[docs/contract.md](contract.md)" in page
    assert "is an action as well (action.yml)" in page  # without an address there is nothing to link to
    monkeypatch.setattr(published, "REPOSITORY", "https://example.org/ours")
    build("--no-build")
    page = (tmp_path / "site/docs/index.md").read_text(encoding="utf-8")
    assert "[action.yml](https://example.org/ours/blob/main/action.yml)" in page


#: Each page in a frame as wide as a screen, one after the other; what is wider than the frame is listed at the end.
FRAMES = """
<!doctype html><iframe id="frame" height="900"></iframe><p id="told"></p><script>
const frame = document.getElementById("frame"), wide = [];
(async () => {
  for (const width of [390, 1366]) {
    frame.width = width;
    for (const page of PAGES) {
      await new Promise((done) => { frame.onload = done; frame.src = page; });
      const extent = frame.contentDocument.documentElement.scrollWidth;
      if (extent > width) wide.push(`${page} is ${extent} wide on ${width}`);
    }
  }
  document.getElementById("told").textContent = "wide: " + wide.join(", ");
})();
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_pages_fit_on_a_desk_and_on_a_phone(build, tmp_path, monkeypatch, capsys):
    assert build() == 0
    html = tmp_path / "site/html"
    names = ["index.html", *(f"{page}/index.html" for page in (
        "quickstart", "rules", "rules/rcl106", "modules/core_attn", "contracts/0.19.2", "comparison", "found", "advise",
        "bench", "how", "dialects", "corpus", "recall", "robustness", "contributing", "ten-minutes"))]  # fmt: skip
    (html / "recipe.yaml").write_text("policy:\n  megatron_cfg:\n    recompute_granularity: ful\n", encoding="utf-8")
    monkeypatch.chdir(html)
    main(["compat", "--all", "--output-format", "html", "recipe.yaml"])
    (html / "compat.html").write_text(capsys.readouterr().out, encoding="utf-8")
    (html / "wide.html").write_text('<div style="width: 800px">too wide for a phone</div>', encoding="utf-8")
    shown = json.dumps([*names, "compat.html", "wide.html"])
    (html / "frames.html").write_text(FRAMES.replace("PAGES", shown), encoding="utf-8")
    page, served = dom(html, "frames.html", once='document.getElementById("told").textContent')
    assert re.findall(r'"told">wide: ([^<]*)<', page) == ["wide.html is 808 wide on 390"]
    assert all(f"/{name}" in served for name in names)
