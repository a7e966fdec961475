"""Write docs/found.md: the mistakes in published repositories, and the patches for them.

    python -m tools.found CHECKOUTS [--check]

``CHECKOUTS`` has a folder ``OWNER+NAME`` for each repository and its commit in ``OWNER+NAME.rev``. Each is linted as it
is; ``found.yaml`` says what each kind of mistake does at run time. A finding that it has no entry for, and an entry
without findings, are errors. A patch is kept only if what it is for is gone when the patched file is linted, and no
more is found. ``--check`` writes nothing and says whether the page is up to date.
"""

from __future__ import annotations

import re
import sys
import tempfile
from difflib import unified_diff
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from recompute_lint.hooks.diagnostics import Diagnostic
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.fix import apply
from recompute_lint.hooks.options import Configurations
from recompute_lint.sources.text import decode, encode

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "found.md"
PATCHES = ROOT / "docs" / "found"

#: So many places of one entry are listed; the others are in the patch, or found by the command.
_LISTED = 12


class Repository(NamedTuple):
    """A checkout, and what is found in it."""

    name: str
    commit: str
    folder: Path
    diagnostics: list[Diagnostic]


class Patch(NamedTuple):
    """The change of one file."""

    path: str
    text: str
    findings: int


def main(arguments: list[str]) -> int:
    """Write the page and the patches, or compare them; 1 where something is not explained or not up to date."""
    checkouts = Path(next(argument for argument in arguments if not argument.startswith("-")))
    entries: list[dict[str, Any]] = yaml.safe_load((ROOT / "tools" / "found.yaml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        found = [_lint(folder, Path(scratch)) for folder in sorted(checkouts.iterdir()) if folder.is_dir()]
        page, patches, wrong = _page(entries, [repository for repository in found if repository.diagnostics])
    for line in wrong:
        print(line, file=sys.stderr)
    written = {PAGE: page, **{PATCHES / f"{name}.patch": text for name, text in patches.items()}}
    if "--check" in arguments:
        stale = [path for path, text in written.items() if not path.is_file() or path.read_text("utf-8") != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date", file=sys.stderr)
        return int(bool(wrong or stale))
    PATCHES.mkdir(exist_ok=True)
    for path in PATCHES.glob("*.patch"):
        path.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    return int(bool(wrong))


def _lint(folder: Path, scratch: Path) -> Repository:
    """What is found in a checkout, as in a clone: an extract without ``.git`` gets one, beside links to all it has."""
    root = folder
    if not (folder / ".git").exists():
        root = scratch / folder.name
        root.mkdir()
        for entry in folder.iterdir():
            (root / entry.name).symlink_to(entry)
        (root / ".git").mkdir(exist_ok=True)
    linter = Linter(Configurations({}, isolated=True))
    report = linter.run(linter.files([str(root)]))
    revision = folder.with_name(f"{folder.name}.rev")
    commit = revision.read_text().split()[0] if revision.is_file() else "HEAD"
    return Repository(folder.name.replace("+", "/"), commit, root, report.diagnostics)


def _page(entries: list[dict[str, Any]], found: list[Repository]) -> tuple[str, dict[str, str], list[str]]:
    """The page, the patches by repository, and what is wrong."""
    left = {(repository.name, diagnostic) for repository in found for diagnostic in repository.diagnostics}
    patches: dict[str, list[Patch]] = {}
    sections, wrong = [], []
    for entry in entries:
        rows = []
        for repository in found:
            mine = [diagnostic for diagnostic in repository.diagnostics if _is_of(entry, repository, diagnostic)]
            left.difference_update((repository.name, diagnostic) for diagnostic in mine)
            made = [] if not mine or "no-patch" in entry else _patches(entry, repository, mine)
            patches.setdefault(repository.name, []).extend(made)
            patched = sum(patch.findings for patch in made)
            if mine and "no-patch" not in entry and patched < len(mine):
                wrong.append(f"{repository.name}: {entry['title']}: {len(mine) - patched} of {len(mine)} not patched")
            rows += [(repository, mine, patched)] if mine else []
        if not rows:
            wrong.append(f"{entry['title']}: is not found any more")
        else:
            sections.append(_section(entry, rows, patches))
    wrong += [f"{name}: {_place(found, name, one)}: {one.code} is not explained" for name, one in sorted(left, key=str)]
    texts = {
        name.replace("/", "+"): "".join(patch.text for patch in sorted(made)) for name, made in patches.items() if made
    }
    return _head(found, sections, texts) + "\n".join(sections), texts, wrong


def _is_of(entry: dict[str, Any], repository: Repository, diagnostic: Diagnostic) -> bool:
    path = _relative(repository, diagnostic)
    return (
        diagnostic.code == entry["rule"]
        and repository.name in entry["in"]
        and any(fnmatchcase(path, pattern) for pattern in entry.get("files", ["*"]))
    )


def _relative(repository: Repository, diagnostic: Diagnostic) -> str:
    return str(Path(diagnostic.span.path).relative_to(repository.folder))


def _place(found: list[Repository], name: str, diagnostic: Diagnostic) -> str:
    repository = next(repository for repository in found if repository.name == name)
    return f"{_relative(repository, diagnostic)}:{diagnostic.span.line}"


def _patches(entry: dict[str, Any], repository: Repository, mine: list[Diagnostic]) -> list[Patch]:
    """The change of each file that has such findings, where it holds what it promises."""
    made = []
    for path in dict.fromkeys(diagnostic.span.path for diagnostic in mine):
        here = [diagnostic for diagnostic in mine if diagnostic.span.path == path]
        content = Path(path).read_bytes()
        text = decode(path, content)
        if not isinstance(text, str):
            continue
        new = _edited(text, entry["edits"], here) if "edits" in entry else _fixed(text, here, content)
        if new == text or not _holds(path, content, encode(new, like=content, path=path), len(here)):
            continue
        name = str(Path(path).relative_to(repository.folder))
        rows = unified_diff(text.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}", n=1)
        made.append(Patch(name, "".join(row if row.endswith("\n") else f"{row}\n" for row in rows), len(here)))
    return made


#: A default behind another is found once that is gone: ``getattr(config, key, 0) or 0``.
_ROUNDS = 3


def _fixed(text: str, found: list[Diagnostic], content: bytes) -> str:
    """The text with the fixes of findings, and of those that they bring to light, as ``--fix`` does."""
    from recompute_lint.hooks.fix import resolved

    path, code = found[0].span.path, found[0].code
    for _ in range(_ROUNDS):
        fixes = [resolved(diagnostic.fix, text) for diagnostic in found if diagnostic.fix is not None]
        text = apply(text, [fix for fix in fixes if fix is not None])[0]
        diagnostics = _lint_text(path, encode(text, like=content, path=path))
        lines = {diagnostic.span.line for diagnostic in found}
        found = [one for one in diagnostics if one.code == code and one.span.line in lines]
        if not found:
            break
    return text


def _lint_text(path: str, content: bytes) -> list[Diagnostic]:
    return Linter(Configurations({}, isolated=True)).run([path], {path: content}).diagnostics


def _edited(text: str, edits: list[list[str]], found: list[Diagnostic]) -> str:
    """The text with each edit carried out where it matches nearest to each finding, from the end on."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    changes: dict[int, tuple[int, str]] = {}
    for diagnostic in found:
        place = starts[diagnostic.span.line - 1] + diagnostic.span.column - 1
        for pattern, replacement in edits:
            matches = list(re.finditer(pattern, text))
            if matches:
                nearest = min(matches, key=lambda match: 0 if match.start() <= place < match.end() else min(
                    abs(match.start() - place), abs(match.end() - place)))  # fmt: skip
                changes[nearest.start()] = (nearest.end(), nearest.expand(replacement))
    for start, (end, replacement) in sorted(changes.items(), reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _holds(path: str, before: bytes, after: bytes, fewer: int) -> bool:
    """Whether the findings are gone, and nothing else is found."""

    return len(_lint_text(path, after)) <= len(_lint_text(path, before)) - fewer


def _head(found: list[Repository], sections: list[str], patches: dict[str, str]) -> str:
    total = sum(len(repository.diagnostics) for repository in found)
    rows = [
        f"| [{repository.name}](https://github.com/{repository.name}/tree/{repository.commit}) | {repository.commit} "
        f"| {len(repository.diagnostics)} | "
        + (
            f"[{name}.patch](found/{name}.patch) |"
            if (name := repository.name.replace("/", "+")) in patches
            else "none |"
        )
        for repository in found
    ]
    return (
        "# Found in published repositories\n\n"
        "<!-- written by `python -m tools.found CHECKOUTS`; what is said of each kind is in tools/found.yaml -->\n\n"
        f"{total} findings in {len(found)} repositories, each read and explained; [corpus.md](corpus.md) says how, and "
        "what was false and is a test now. Lines of Megatron-Core are those of Megatron-LM's main at d98e8a64 where "
        "nothing else is said. A patch is what `--fix --unsafe-fixes` makes, or made by hand; in either case what it "
        "is for is gone once it is applied (`git apply`), and no more is found.\n\n"
        "| repository | commit | findings | patch |\n|---|---|--:|---|\n" + "\n".join(rows) + "\n\n"
    )


def _section(
    entry: dict[str, Any], rows: list[tuple[Repository, list[Diagnostic], int]], patches: dict[str, list[Patch]]
) -> str:
    lines = [
        f"## {entry['title']}",
        "",
        " ".join(entry["what"].split()),
        "",
        f"`{entry['rule']}`; {entry['source']}",
        "",
    ]
    for repository, mine, _ in rows:
        address = f"https://github.com/{repository.name}/blob/{repository.commit}"
        named = [
            f"[{name}:{one.span.line}]({address}/{name}#L{one.span.line})"
            for one in mine[:_LISTED]
            for name in [_relative(repository, one)]
        ]
        more = f", and {len(mine) - _LISTED} more" if len(mine) > _LISTED else ""
        lines.append(f"* {repository.name}, {len(mine)}: {', '.join(named)}{more}")
    lines += ["", f"The linter says: {rows[0][1][0].message}.", ""]
    if "no-patch" in entry:
        return "\n".join([*lines, f"No patch: {' '.join(entry['no-patch'].split())}.", ""])
    paths = {_relative(repository, one) for repository, mine, _ in rows for one in mine}
    example = next(
        (patch for repository, *_ in rows for patch in patches[repository.name] if patch.path in paths), None
    )
    return "\n".join([*lines, "```diff", example.text.rstrip("\n"), "```", ""]) if example else "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
