"""What a help line says is done to the text, word for word, and linted: the finding is gone, and no other has come.

Done here are changes of settings (``set``, ``add``, ``remove``, ``delete``, ``write``) in YAML and in scripts;
alternatives are tried one by one. Help that leaves a choice to the reader cannot be done by a machine, and the rules
that give only such help are named.
"""

from __future__ import annotations

import re

import pytest

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from recompute_lint.lint_rules.finding import Example
from recompute_lint.lint_rules.registry import RULES, load

from .words import TEXTS

#: Help that only a person can follow, by how it begins.
FOR_PEOPLE = re.compile(
    r"use |change one of|list modules other|did you mean|take |name |\"|(?:remove|delete) it\b"
    r"|set megatron_cfg|delete the|give |keep |make "
    r"|write (?:a |\"full\" or|\"uniform\" or|true or|one of|of type|.* and )"
)

_WORD = r"[\w-]+"
_FLAGS_AS_KEYS = re.compile(r"(?m)^ *--[\w-]+:")


class CannotBeDone(Exception):
    """A help line that this does not know how to follow."""


def follow(help: str, text: str, line: int, value: tuple[int, int, int]) -> list[str]:
    """The texts that a help line's ways out make of a text.

    Args:
        help: the line.
        text: what was linted.
        line: where the finding is, from 1.
        value: the line and the columns of what the finding marks.
    """
    help = re.sub(r" \([^)]*\)", "", re.sub("^to recompute (?:them too|nothing), ", "", help))
    help = re.sub(r"([: ]\w+) or (?:block|selective|more)(?=$|,)", r"\1", help)  # either will do
    ways = re.split(r", or ", help)
    return [_do(way, text, line, value) for way in ways if not FOR_PEOPLE.match(way)]


def _do(way: str, text: str, line: int, value: tuple[int, int, int]) -> str:
    written = re.fullmatch(r'write ("?)([\w.\[\], ]+)\1', way)
    if written:
        row, start, end = value
        lines = text.split("\n")
        old = lines[row - 1]
        lines[row - 1] = old[: start - 1] + written[2] + old[end - 1 :]
        return "\n".join(lines)
    verb = "set"
    for part in re.split(r" and (?=set |remove |delete |add )", way):
        match = re.match(r"(set|add|remove|delete) (.+)", part)
        if not match:
            raise CannotBeDone(way)
        verb, rest = match.groups()
        items = re.fullmatch(rf'((?:"\w+"(?:, | and )?)+) from ({_WORD})', rest)
        if items:
            for item in re.findall(r'"(\w+)"', items[1]):
                text = _without_item(text, items[2], item)
            continue
        for one in re.split(r", | and ", rest):
            if verb in ("remove", "delete"):
                text = _without(text, one)
            else:
                name, _, new = one.partition(": " if ": " in one else " ")
                text = _with(text, name, new, line)
    return text


def _without_item(text: str, key: str, item: str) -> str:
    """A text without an item of a list, in a row, in a column, or behind a flag."""

    def shorter(match: re.Match[str]) -> str:
        return re.sub(rf",?\s*[\"']?\b{item}\b[\"']?(?=\W|$)", "", match[0], count=1).replace("[, ", "[")

    made = re.sub(rf"(?m)^.*{key}.*$", shorter, text, count=1)
    return made if made != text else re.sub(rf"\n\s*- {item}\b", "", text, count=1)


def _without(text: str, name: str) -> str:
    if name.startswith("--") and not _FLAGS_AS_KEYS.search(text):
        return re.sub(rf" {name}(?= |$|\n)(?: (?!-)\S+)*", "", text)
    return re.sub(rf"(?m)^ *(?:\w+\.)*{name}(?::| =).*(?:\n +- .*)*\n", "", text)


def _with(text: str, name: str, new: str, line: int) -> str:
    if name.startswith("--") and not _FLAGS_AS_KEYS.search(text):
        made = re.sub(rf"{name}(?= |$|\n)(?: (?!-)\S+)*", f"{name} {new}".strip(), text)
        return made if made != text else text.rstrip("\n") + f" {name} {new}".rstrip() + "\n"
    there = re.search(rf"(?m)^( *){name}:.*(?:\n +- .*)*$", text)
    if there:
        return text[: there.start()] + f"{there[1]}{name}: {new}" + text[there.end() :]
    lines = text.split("\n")
    indent = re.match(r" *", lines[line - 1])
    lines.insert(line, f"{indent[0] if indent else ''}{name}: {new}")
    return "\n".join(lines)


def found(example: Example, text: str, tmp_path) -> list[tuple[str, str, str, tuple[int, int, int], int]]:
    for name, content in {**example.beside, example.filename: text}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    report = Linter(Configurations(dict(example.options), isolated=True)).run([example.filename])
    return [
        (one.code, one.message, one.help, (one.span.line, one.span.column, one.span.end_column), one.span.line)
        for one in report.diagnostics
    ]


EXAMPLES = [
    pytest.param(code, example, id=f"{code}-{index}")
    for code in RULES
    if code < "RCL300"
    for index, example in enumerate((*getattr(load(code), "INVALID", ()), *TEXTS.get(code, ())))
    if not example.filename.endswith(".py")
]


@pytest.mark.parametrize(("code", "example"), EXAMPLES)
def test_following_the_help_leaves_nothing_new(code, example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = found(example, example.text, tmp_path)
    for one, message, help, value, line in before:
        if one != code:
            continue
        for text in follow(help, example.text, line, value):
            after = found(example, text, tmp_path)
            assert (one, message) not in [(other[0], other[1]) for other in after], (help, text)
            left = {other[0] for other in after} - {other[0] for other in before}
            assert not left, (help, text, after)


def test_most_help_can_be_followed_by_a_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done: dict[str, int] = {}
    for parameter in EXAMPLES:
        code, example = parameter.values
        for one, _, help, value, line in found(example, example.text, tmp_path):
            if one == code:
                done[code] = done.get(code, 0) + len(follow(help, example.text, line, value))
    assert {code for code, count in done.items() if not count} <= {
        "RCL113",
        "RCL199",
        "RCL205",
        "RCL206",
        "RCL207",
        "RCL208",
        "RCL106",
    }
