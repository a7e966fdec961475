"""What fixes do to Python: it stays Python, only what is wrong changes, and a key that is there gives what it gave."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from recompute_lint.hooks.fix import apply
from recompute_lint.lint_rules import python_check
from recompute_lint.schemas import store
from recompute_lint.schemas.choose import Choice
from recompute_lint.sources.model import Span
from recompute_lint.sources.reader import Document

CHOICE = Choice(store.load("0.16.1"), "--mcore")


class Config(dict):
    """A mapping whose keys are attributes, too, as OmegaConf's are."""

    def __getattr__(self, name: str) -> object:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def get(self, key: str, default: object = None) -> object:
        return super().get(key, default)


def config() -> Config:
    inner = Config(recompute_granularity="selective", recompute_num_layers=3, recompute_modules=["mlp"])
    return Config(inner, megatron_cfg=inner)


KEYS = st.sampled_from(["'recompute_granularity'", '"recompute_num_layers"', "r'recompute_modules'", '"precision"'])
DEFAULTS = st.sampled_from(["'full'", "1", "None", "[]", "len('ä')", "f(\n  1)", "(2)", "D", "  3 ", "0 or 4"])
CONTAINERS = st.sampled_from(
    ["c", "c['megatron_cfg']", "c.megatron_cfg", "(c)", "c.get('megatron_cfg', {})", "f(c)", "c \\\n "]
)
SPACE = st.sampled_from(["", " ", "\n    ", "  # why\n"])
FORMS = st.sampled_from(
    [
        "{c}.get({s}{k},{s}{d}{s})",
        "{c}.get({k}, default={d})",
        "{c}.get({s}{k}, {d},{s})",
        "getattr({c}, {k}, {d})",
        "getattr({s}{c},{s}{k},{s}{d})",
        "{c}.pop({k}, {d})",
        "{c}.pop({s}{k}{s},{s}{d},)",
        "{c}.setdefault({k}, {d})",
        "dict.get({c}, {k}, {d})",
        "get({k}, {d})",
        "({c}.get({k}) or {d})",
        "({c}[{k}] if {k} in {c} else {d})",
        "({d} if {k} not in {c} else {c}[{k}])",
        "(w := {c}.get({k}, {d}))",
        "[{c}.get({k}, {d}) for _ in 'ab']",
        'f"ä{{c.get({q}, 7)!r}}"',
    ]
)


@st.composite
def reads(draw: st.DrawFn) -> str:
    key = draw(KEYS)
    form, space, container, default = draw(FORMS), draw(SPACE), draw(CONTAINERS), draw(DEFAULTS)
    quoted = "'" + key.strip("r\"'") + "'"
    return form.format(c=container, k=key, d=default, s=space, q=quoted)


def findings(text: str) -> list:
    return list(python_check.check(Document("a.py", text.encode()), CHOICE, python_check.Extras()))


def module(expressions: list[str]) -> str:
    # every one gets a configuration of its own, since some change it
    lines = [f"c = new()\nget = c.get\nx{index} = ({one})  # é\n" for index, one in enumerate(expressions)]
    return "D = 5\nf = lambda x: x\n" + "".join(lines)


def values(text: str) -> dict:
    variables: dict = {"new": config}
    exec(compile(text, "a.py", "exec"), variables)
    return {name: value for name, value in variables.items() if name.startswith("x")}


@settings(max_examples=400, deadline=None)
@given(st.lists(reads(), min_size=1, max_size=4))
def test_fixes(expressions):
    text = module(expressions)
    ast.parse(text)
    found = findings(text)
    fixes = [finding.fix for finding in found if finding.fix is not None]
    fixed, count = apply(text, fixes)
    assert count == len(fixes)
    ast.parse(fixed)
    assert untouched(text, fixes) == untouched_of(fixed, text, fixes)
    assert [finding for finding in findings(fixed) if finding.fix is not None] == []

    safe, _ = apply(text, [fix for fix in fixes if fix.safe])
    if "precision" not in text:  # every key is there
        assert values(safe) == values(text)


def bounds(text: str, span: Span) -> tuple[int, int]:
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:index])) for index in range(len(lines) + 1)]
    return starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1


def untouched(text: str, fixes: list) -> list[str]:
    """The text between the places that fixes change."""
    places = sorted(bounds(text, edit.span) for fix in fixes for edit in fix.edits)
    ends = [0, *(end for _, end in places)]
    return [text[start:end] for start, end in zip(ends, [*(start for start, _ in places), len(text)], strict=True)]


def untouched_of(fixed: str, text: str, fixes: list) -> list[str]:
    """The same of the text that came out, by what the fixes put in."""
    edits = sorted((bounds(text, edit.span), edit.text) for fix in fixes for edit in fix.edits)
    parts, shift, begin = [], 0, 0
    for (start, end), new in edits:
        parts.append(fixed[begin : start + shift])
        assert fixed[start + shift : start + shift + len(new)] == new
        shift += len(new) - (end - start)
        begin = end + shift
    return [*parts, fixed[begin:]]
