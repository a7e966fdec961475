"""What is read of the rules' examples: recorded, and reviewed as a diff when it changes; see ``sites.py``.

And of the inputs of the frameworks' tables: that each setting has the place where its text stands.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from recompute_lint.lint_rules.registry import RULES
from recompute_lint.sources.model import UNKNOWN, Setting, Span
from tests.sources import sites
from tools.loaders import table
from tools.loaders.__main__ import NAMES


@pytest.mark.parametrize("code", RULES)
def test_the_record_is_what_is_read(code):
    assert sites.text(code) == sites.recorded()[code], "python -m tests.sources.sites records it anew"


def text_at(span: Span, files: dict[str, str]) -> str:
    lines = files[span.path].split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def has_its_name(setting: Setting, text: str) -> bool:
    """Whether the key is the name, or the beginning of it that a parser takes; an override may set a whole mapping."""
    name = text.strip("\"'").lstrip("-+").replace("-", "_").rpartition(".")[2]
    return (name == setting.name or setting.name.startswith(name) or name.endswith("config")
            or (text, setting.name) == ("-rl", "recompute_num_layers"))  # fmt: skip


def has_its_value(setting: Setting, files: dict[str, str]) -> bool:
    """Whether the value is what is written, a list's items are, or a flag's name stands for it."""
    text = text_at(setting.span, files)
    if setting.span == setting.key:
        return setting.value is True
    if not text and setting.items:
        return [yaml.safe_load(text_at(item, files)) for item in setting.items] == setting.value
    value = words(setting.value)
    return text.startswith("{recompute_") or words(text)[: len(value)] == value  # a parser may leave the last words


def words(value: Any) -> list[str]:
    """A value as a list of words, in whichever way it is written."""
    for _ in range(2):
        value = yaml.safe_load(value.replace("=", ":")) if isinstance(value, str) else value
    if isinstance(value, list):
        return [word for item in value for word in words(item)]
    if isinstance(value, str) and value.replace(".", "").replace("e-", "").isdigit():
        return [str(float(value))]
    return re.findall(r"[\w.+-]+", str(value))


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_has_the_place_of_its_text(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    misplaced, count = [], 0
    for row in table.read(name)["generated"][::3]:
        for path, text in row["files"].items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        found, _ = Linter(Configurations({"mcore": "0.19.2"}, isolated=True)).sites(row["lint"])
        for setting in (setting for site in found for setting in site.settings.values()):
            if isinstance(setting.value, dict):
                continue
            count += 1
            known = not setting.computed and setting.value is not UNKNOWN
            right = has_its_name(setting, text_at(setting.key, row["files"]))
            if not right or (known and not has_its_value(setting, row["files"])):
                misplaced.append((row["name"], setting.name, setting.value, text_at(setting.span, row["files"])))
    assert misplaced == []
    assert count > 60
