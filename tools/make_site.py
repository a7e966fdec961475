"""Make the site: ``python -m tools.make_site [--no-build] [--playground]``, with the extra ``docs``.

Pages about rules, modules, fields and releases are those that ``explain`` and ``contract`` print; the others are docs/,
README and CONTRIBUTING. A link to a file that is not on the site leads to the repository, or is its name while there is
no address (``recompute_lint/published.py``). Any other link that leads nowhere fails the build.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from recompute_lint import published
from recompute_lint.lint_rules import meaning_page, pages
from recompute_lint.lint_rules.links import link
from recompute_lint.lint_rules.registry import RULES, find
from recompute_lint.schemas import meanings, store
from recompute_lint.schemas.compare import compare
from recompute_lint.schemas.contract import Contract

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"

#: Files outside docs/ that are pages, and what they are called on the site.
_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}


_NAVIGATION = """\
- Start: index.md
- Quick start: quickstart.md
- Playground: playground.md
- Rules: [rules/index.md, RULES]
- Modules: [modules/index.md, MODULES]
- Contracts: [contract.md, contracts/index.md, CONTRACTS]
- Frameworks: [dialects.md, loaders.md]
- Will it fit: [advise.md, bench.md]
- How good: [found.md, corpus.md, recall.md, robustness.md]
- About: [how.md, comparison.md, ten-minutes.md, contributing.md, changelog.md, versions.md, security.md]
"""


def main(arguments: list[str]) -> int:
    """Write the pages and build the site; the exit code of mkdocs."""
    docs = SITE / "docs"
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs)
    for source, name in _PAGES.items():
        (docs / name).write_text((ROOT / source).read_text(encoding="utf-8"), encoding="utf-8")
    for name, text in {**_rules(), **_modules(), **_contracts()}.items():
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(text, encoding="utf-8")
    if "--playground" in arguments:
        from .playground import make

        make.write(docs)
    for page in docs.rglob("*.md"):
        page.write_text(_linked(page, docs), encoding="utf-8")
    (SITE / "mkdocs.yml").write_text(_configuration(docs), encoding="utf-8")
    if "--no-build" in arguments:
        return 0
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(SITE / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    # not --quiet, with which mkdocs would not count its warnings
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr)
    return done.returncode


def _configuration(docs: Path) -> str:
    """mkdocs' configuration, with every page in the navigation."""
    pages_in = {
        folder.upper(): ", ".join(
            f"{folder}/{page.name}"
            for page in sorted(docs.joinpath(folder).glob("*.md"), key=_order)
            if page.stem != "index"
        )
        for folder in ("rules", "modules", "contracts")
    }
    there = docs.joinpath("playground.md").exists()
    navigation = _NAVIGATION if there else _NAVIGATION.replace("- Playground: playground.md\n", "")
    navigation = re.sub(r"RULES|MODULES|CONTRACTS", lambda match: pages_in[match[0]], navigation)
    head = f"INHERIT: {json.dumps(str(ROOT / 'mkdocs.yml'))}\ndocs_dir: docs\nsite_dir: html\n"
    if published.REPOSITORY:
        head += f"repo_url: {json.dumps(published.REPOSITORY)}\n"
    if published.DOCUMENTATION:
        head += f"site_url: {json.dumps(published.DOCUMENTATION + '/')}\n"
    head += "nav:\n"
    return head + "".join(f"  {line}\n" for line in navigation.splitlines())


def _order(page: Path) -> tuple[tuple[int, ...], str]:
    """Releases from new to old, and names by the alphabet."""
    return tuple(-number for number in store.version_key(page.stem)), page.stem


def _rules() -> dict[str, str]:
    rows = [
        f"| [{code}]({code.lower()}.md) | {rule.name} | {rule.severity} | {_cell(pages.summary(code))} |"
        for code, rule in RULES.items()
    ]
    table = "\n".join(["| code | name | severity | |", "|---|---|---|---|", *rows])
    found = {f"rules/{code.lower()}.md": _with_names(pages.markdown(code), "../modules/") for code in RULES}
    return {"rules/index.md": f"# Rules\n\n{table}\n", **found}


def _modules() -> dict[str, str]:
    found, rows = {}, []
    for meant in filter(None, map(meanings.meaning, meanings.names())):
        found[f"modules/{meant.name}.md"] = meaning_page.markdown(meant, meaning_page.contract_for(meant))
        rows.append(f"| [{meant.name}]({meant.name}.md) | {meant.kind} | {_cell(meant.summary)} |")
    table = "\n".join(["| name | | |", "|---|---|---|", *rows])
    return {"modules/index.md": f"# Modules and fields\n\nWhat each recomputes, keeps and frees.\n\n{table}\n", **found}


def _contracts() -> dict[str, str]:
    """A page for the newest release of each series, with what changed since the one before."""
    newest = store.newest_of_each_series(store.releases())
    contracts = [store.load(release) for release in newest]
    before = dict(pairwise(reversed(contracts)))
    found = {f"contracts/{one.version}.md": _contract(one, before.get(one)) for one in contracts}
    rows = [
        f"| [{one.version}]({one.version}.md) | {', '.join(one.modules) or 'none'} | {len(one.guards)} |"
        for one in reversed(contracts)
    ]
    table = "\n".join(["| release | modules | checks |", "|---|---|--:|", *rows])
    text = "The newest release of each series. `recompute-lint contract show` and `diff` have every release."
    return {"contracts/index.md": f"# What each release allows\n\n{text}\n\n{table}\n", **found}


def _contract(one: Contract, old: Contract | None) -> str:
    modules = [f"[{name}](../modules/{name}.md)" if meanings.meaning(name) else name for name in one.modules]
    fields = [
        f"| {f'[{name}](../modules/{name}.md)' if meanings.meaning(name) else name} | `{one.defaults.get(name)}` "
        f"| {_source(one, one.source_of(name))} |"
        for name in one.recompute
    ]
    guards = [
        f"| [{code}](../rules/{code.lower()}.md) | {_code(guard.condition)} | {_source(one, guard.source)} |"
        for guard in one.guards
        for code in [find(guard.rule).code]
    ]
    parts = [
        f"# Megatron-Core {one.version}",
        f"Modules: {', '.join(modules) or 'none, this release does not have recompute_modules'}.",
        "\n".join(["| field | default | source |", "|---|---|---|", *fields]),
        "## Rejected\n",
        "\n".join(["| rule | where | source |", "|---|---|---|", *guards]),
    ]
    if old is not None:
        parts.append(f"## Since {old.version}")
        sections = compare(old, one)
        for title, rows in sections:
            parts += [f"### {title}", "\n".join(f"* {_change(row)}" for row in rows)]
        if not sections:
            parts.append("Nothing about recomputation changed.")
    return "\n\n".join(parts) + "\n"


def _source(one: Contract, source: str) -> str:
    """A place in Megatron-Core's source by its short name, as a link where the release has a tag."""
    short, address = source.rpartition("/")[2], link(one, source)
    return f"[{short}]({address})" if address != source else short


def _cell(text: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _code(text: str) -> str:
    """A condition as code: a list of attributes is what ``{...}`` at the end of a cell would be otherwise."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return "<code>" + re.sub(r"[|{}*_\[\]`\\]", lambda match: f"&#{ord(match[0])};", escaped) + "</code>"


def _change(row: str) -> str:
    """A row of ``contract diff``: a name, or a rule with its condition and below it Megatron-Core's message."""
    head, _, message = row.partition("\n")
    name, colon, condition = head.partition(": ")
    if not message or not colon:
        return _inline(row)
    return f"{name}: {_code(condition)}<br>{_inline(message)}"


def _inline(text: str) -> str:
    return " ".join(text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").split())


def _with_names(text: str, folder: str) -> str:
    """Links for the modules that a page names in code, outside its examples."""
    known = {meant.name for meant in filter(None, map(meanings.meaning, meanings.names()))}
    return re.sub(
        r"(?m)^(?! {4}).*$",
        lambda line: re.sub(
            r"(?<![\[`])`([a-z_]+)`(?!\])",
            lambda match: f"[`{match[1]}`]({folder}{match[1]}.md)" if match[1] in known else match[0],
            line[0],
        ),
        text,
    )


def _linked(page: Path, docs: Path) -> str:
    """The text of a page with links as the site has them."""
    name = str(page.relative_to(docs))
    origin = next((source for source, copy in _PAGES.items() if copy == name), f"docs/{name}")

    def link(match: re.Match[str]) -> str:
        label, target, anchor = match[1], match[2], match[3] or ""
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        file = os.path.normpath(os.path.join(os.path.dirname(origin), target))
        inside = _PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else "")
        if inside and (docs / inside).exists():
            return f"[{label}]({os.path.relpath(inside, os.path.dirname(name))}{anchor})"
        if published.REPOSITORY:
            return f"[{label}]({published.REPOSITORY.removesuffix('.git')}/blob/main/{file}{anchor})"
        return label

    parts = re.split(r"(?ms)(^ *```.*?^ *```$|^(?: {4}.*\n)+)", page.read_text(encoding="utf-8"))
    parts[::2] = [re.sub(r"\[((?:[^\]\[]|\[[^\]]*\])+)\]\(([^)#\s]*)(#[^)\s]*)?\)", link, part) for part in parts[::2]]
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
