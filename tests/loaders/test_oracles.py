"""Overrides are parsed as Hydra parses them, and scripts as tree-sitter's grammar of Bash and ``bash -n`` do."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recompute_lint.sources.model import UNKNOWN, Span
from recompute_lint.sources.reader import Reader
from recompute_lint.sources.shell.flags import Word
from recompute_lint.sources.shell.overrides import override
from recompute_lint.sources.shell.syntax import Assign, Parser, Simple, literal
from recompute_lint.sources.yaml.hydra_defaults import compose
from recompute_lint.sources.yaml.tree import to_python
from tests.loaders import scripts
from tools.loaders import hydra_files

parsing = pytest.importorskip("hydra.core.override_parser.overrides_parser")
PARSER = parsing.OverridesParser.create()

#: Nothing: Hydra refuses the word, or what it says is more than a value.
NO_VALUE = object()


def theirs(text: str) -> Any:
    """The value of an override as Hydra parses it."""
    from hydra.core.override_parser.types import Glob, IntervalSweep, QuotedString, RangeSweep

    def plain(value: Any) -> Any:
        if isinstance(value, QuotedString):
            return value.text
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return value

    try:
        parsed = PARSER.parse_override(text)
    except Exception:
        return NO_VALUE
    if parsed.is_sweep_override() or isinstance(parsed.value(), (Glob, RangeSweep, IntervalSweep)):
        return NO_VALUE
    return NO_VALUE if parsed.is_delete() else plain(parsed.value())


def ours(text: str) -> Any:
    """The value of an override as the linter reads it; NO_VALUE where it is left to the run or no override."""
    read = override(Word(text, Span("x.sh", 1, 1, 1, len(text) + 1)))
    return NO_VALUE if read is None or read.deletes or _unknown(read.setting.value) else read.setting.value


def _unknown(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is UNKNOWN or any(map(_unknown, inside))


_PRIMITIVES = st.one_of(
    st.sampled_from(
        ("full", "selective", "core_attn", "mlp", "null", "NULL", "true", "True", "FALSE", "none", "None", "~")
    ),
    st.integers(-3, 40).map(str),
    st.sampled_from(("1.5", "1e3", "01", "1_000", ".5", "inf", "nan", "0x10", "a b", "a-b", "a.b", "a/b", "a:b", "*")),
)
_QUOTED = st.tuples(st.sampled_from(("'", '"')), _PRIMITIVES).map(lambda pair: f"{pair[0]}{pair[1]}{pair[0]}")
_BLANKS = st.sampled_from(("", "", " ", "  "))
_ITEMS = st.one_of(_PRIMITIVES, _PRIMITIVES, _QUOTED)
_LISTS = st.tuples(_BLANKS, st.lists(_ITEMS, max_size=4), st.sampled_from((",", ", ", " ,"))).map(
    lambda parts: f"[{parts[0]}{parts[2].join(parts[1])}{parts[0]}]"
)
_VALUES = st.one_of(
    _ITEMS,
    _LISTS,
    st.lists(_PRIMITIVES, min_size=2, max_size=3).map(",".join),
    st.sampled_from(("{a:1}", "${x}", "a${x}", "choice(a,b)", "range(1,3)", "[[a],b]", "[a", "", "int('1')", "'a,b'")),
    _ITEMS.map(lambda item: f"{{recompute_granularity:{item}}}"),
)
_KEYS = st.sampled_from(
    ("a.recompute_granularity", "a.b.recompute_modules", "a.recompute_num_layers", "a@b.recompute_method")
)
_OVERRIDES = st.tuples(st.sampled_from(("", "", "+", "++", "~")), _KEYS, _VALUES).map(lambda t: f"{t[0]}{t[1]}={t[2]}")


def wrong(text: str) -> str:
    """How the linter reads an override otherwise than Hydra; empty where it does not, or leaves it to the run."""
    read = ours(text)
    if read is NO_VALUE:
        return ""
    expected = theirs(text)
    if expected is not NO_VALUE and read == expected and type(read) is type(expected):
        return ""
    return f"{text}: Hydra {'has no value' if expected is NO_VALUE else repr(expected)}, the linter {read!r}"


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(_OVERRIDES)
def test_a_value_that_is_known_is_what_hydra_makes_of_it(text):
    assert wrong(text) == ""


@pytest.mark.parametrize(
    "value",
    ["01", "1_000", "inf", "~", "a=b", "[a\\,b]", "a'b", "[a,]", "[,a]", "'a'b'", "a\\b", "é", "1__0", "+.5e-1"],
)
def test_a_value_of_odd_characters_is_what_hydra_makes_of_it(value):
    assert wrong(f"a.b={value}") == ""


@pytest.mark.parametrize("value", ["01", "1_000", "a b", "a:b", "-20", ".5", "1e3", "a*?|b", "[ a , b ]", "{a:1}"])
def test_such_a_value_is_known_where_hydra_takes_it(value):
    assert ours(f"a.b={value}") == theirs(f"a.b={value}") is not NO_VALUE


@settings(max_examples=500, deadline=None, derandomize=True)
@given(_OVERRIDES)
def test_a_sweep_is_what_hydra_takes_for_one(text):
    read = override(Word(text, Span("x.sh", 1, 1, 1, len(text) + 1)))
    try:
        parsed = PARSER.parse_override(text)
    except Exception:
        return
    assert read is not None
    assert read.deletes or read.sweeps == parsed.is_sweep_override()


@pytest.mark.parametrize("value", ["full", "null", "true", "2", "'full'", "[mlp]", "[mlp, moe]", "['mlp',moe]", "[]"])
def test_a_plain_value_is_known(value):
    assert ours(f"a.b={value}") == theirs(f"a.b={value}") is not NO_VALUE


_MAIN = "defaults:\n{}\n  - _self_\nactor: {{recompute_num_layers: 1}}\n"
_GROUPS = {
    "model/small.yaml": "recompute_granularity: full\n",
    "model/large.yaml": "recompute_granularity: selective\nrecompute_modules: [mlp]\n",
    "base.yaml": "defaults:\n  - model@actor: small\n  - _self_\n",
    "over.yaml": "defaults:\n  - base\n  - override model@actor: large\n",
    "job.yaml": "defaults:\n  - model@actor: small\n  - override hydra/job_logging: disabled\n",
}


@pytest.mark.parametrize(
    "items",
    [
        "  - base",
        "  - base\n  - override model@actor: large",
        "  - base\n  - override /model@actor: large",
        "  - over",
        "  - over\n  - override model@actor: small",
        "  - job",
        "  - model@actor: small",
        "  - model@actor: [small, large]",
    ],
)
def test_defaults_are_composed_as_hydra_does(items, tmp_path):
    for name, text in {**_GROUPS, "main.yaml": _MAIN.format(items)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    theirs = hydra_files.compose(tmp_path, "main.yaml", [])
    reader = Reader()
    composed = compose(reader.document(str(tmp_path / "main.yaml")), reader)
    assert composed is not None and composed.complete
    assert to_python(composed.root) == {**theirs}


class TestGrammarOfBash:
    """Every script of the thousand is Bash, and its assignments and commands are those of tree-sitter's grammar."""

    SCRIPTS = scripts.batch(7, 300, scripts.CONSTRUCTS)

    def test_bash_takes_them(self, tmp_path):
        for script in self.SCRIPTS:
            (tmp_path / script.name).write_text(script.text)
        check = 'for script in *.sh; do bash -n "$script" || echo "$script"; done'
        done = subprocess.run(["bash", "-c", check], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == ""

    def test_each_assignment_and_command_is_found(self):
        tree_sitter = pytest.importorskip("tree_sitter")
        language = tree_sitter.Language(pytest.importorskip("tree_sitter_bash").language())
        parser = tree_sitter.Parser(language)
        for script in self.SCRIPTS:
            root = parser.parse(script.text.encode()).root_node
            assert not root.has_error, script.text
            assigned, commanded = set(), set()
            waiting = [root]
            while waiting:
                node = waiting.pop()
                if node.type == "variable_assignment" and node.parent.type != "command":
                    assigned.add(node.child_by_field_name("name").text.decode())
                if node.type == "command" and (name := node.child_by_field_name("name")) is not None:
                    commanded.add((node.start_byte, name.text.decode()))
                waiting.extend(node.children)
            events: list[Any] = []
            Parser(script.text, events).script()
            found = {event.name for event in events if isinstance(event, Assign)}
            assert assigned <= found, script.text
            names = {literal(event.words[0]) for event in events if isinstance(event, Simple)}
            wanted = {name for _, name in commanded if name in ("python", "torchrun", "launch", "bash", "eval")}
            assert wanted <= names, script.text
