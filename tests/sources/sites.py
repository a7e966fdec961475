"""Record what is read of files: ``python -m tests.sources.sites`` writes ``sites.txt`` anew, to be reviewed as a diff.

Each entry is a file and every site in it: the settings with the places of their keys and values, what reaches
Megatron-Core, and what does not. The files are the examples of the rules, those with nothing to report included.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from recompute_lint.lint_rules.finding import Example
from recompute_lint.lint_rules.registry import RULES, load
from recompute_lint.sources.model import UNKNOWN, Finding, Setting, Site, Span
from tests.lint_rules import framework_texts, words

RECORD = Path(__file__).with_name("sites.txt")


def examples(code: str) -> list[Example]:
    """The examples of a rule, of both kinds, each text once."""
    module = load(code)
    found = [*module.VALID, *module.INVALID, *words.TEXTS.get(code, ()), *framework_texts.TEXTS.get(code, ())]
    return list({example.text: example for example in found}.values())


def entries(code: str) -> Iterator[str]:
    """What is read of each example of a rule."""
    for example in examples(code):
        read = list(_read(example))
        if read:
            yield (
                f"{example.filename}\n"
                + "".join(f"  | {line}".rstrip() + "\n" for line in example.text.splitlines())
                + "".join(read)
            )


def _read(example: Example) -> Iterator[str]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {example.filename: example.text, **example.beside}.items():
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, name).write_text(text)
        os.chdir(folder)
        try:
            linter = Linter(Configurations({"mcore": "0.16.1", **example.options}, isolated=True))
            sites, problems = linter.sites(example.filename)
        finally:
            os.chdir(before)
    for site in sites:
        yield from _site(site)
    for problem in problems:
        yield f"problem: {_finding(problem, example.filename)}\n"


def _site(site: Site) -> Iterator[str]:
    kind = "closed" if site.closed else "open"
    part = "" if site.complete else ", in part"
    yield f"{site.dialect} {site.path or '.'} at {_place(site.anchor, site.file)}, {kind}{part}\n"
    for setting in site.settings.values():
        yield f"  {_setting(setting, site.file)}\n"
    given = {name: setting.value for name, setting in site.settings.items()}
    for name, value in site.effective.items():
        if name not in given or given[name] is not value:
            origin = site.origin(name)
            by = f" by {origin.name}" if origin and origin.name != name else ""
            yield f"  -> {name} = {_value(value)}{by}\n"
    passed_on = {*site.effective, *(origin.name for origin in site.origins.values())}
    left = [name for name in site.settings if name not in passed_on]
    if left:
        yield f"  not passed on: {', '.join(left)}\n"
    for what, findings in (("ignored", site.ignored), ("rejected", site.rejected)):
        for finding in findings:
            yield f"  {what}: {_finding(finding, site.file)}\n"


def _setting(setting: Setting, file: str) -> str:
    places = f"{_place(setting.key, file)} {_place(setting.span, file)}"
    items = "".join(f" {_place(item, file)}" for item in setting.items)
    computed = ", computed" if setting.computed else ""
    replaces = f", for {_setting(setting.replaces, file)}" if setting.replaces else ""
    return f"{setting.name} = {_value(setting.value)} at {places}{' of' if items else ''}{items}{computed}{replaces}"


def _finding(finding: Finding, file: str) -> str:
    rows = [f"{finding.rule} at {_place(finding.span, file)}: {finding.message}"]
    rows += [f"note: {finding.note}"] if finding.note else []
    rows += [f"help: {finding.help}"] if finding.help else []
    rows += [f"settings: {', '.join(setting.name for setting in finding.involved)}"] if finding.involved else []
    return "\n    ".join(rows)


def _value(value: Any) -> str:
    return json.dumps(value, default=lambda one: "UNKNOWN" if one is UNKNOWN else repr(one))


def _place(span: Span, file: str) -> str:
    where = "" if span.path == file else f"{span.path}:"
    end = f"{span.end_column}" if span.end_line == span.line else f"{span.end_line}:{span.end_column}"
    return f"{where}{span.line}:{span.column}-{end}"


def text(code: str) -> str:
    """The part of the record that the examples of one rule make."""
    return "\n".join((f"=== {code}", *entries(code))).rstrip("\n")


def recorded() -> Mapping[str, str]:
    """The parts of the record, by rule."""
    parts = RECORD.read_text(encoding="utf-8").split("=== ")[1:]
    return {part.partition("\n")[0]: f"=== {part}".rstrip("\n") for part in parts}


if __name__ == "__main__":
    RECORD.write_text("\n\n".join(map(text, RULES)) + "\n", encoding="utf-8")
