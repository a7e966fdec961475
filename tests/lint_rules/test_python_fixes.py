"""What fixes do to Python: it stays Python, only what is wrong changes, and a key that is there gives what it gave."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recompute_lint.hooks.diagnostics import Diagnostic
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.fix import apply, fixed, resolved
from recompute_lint.hooks.options import Configurations
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
    fixes = [resolved(finding.fix, text) for finding in found if finding.fix is not None]
    assert None not in fixes
    done, count = apply(text, fixes)
    assert count == len(fixes)
    ast.parse(done)
    assert untouched(text, fixes) == untouched_of(done, text, fixes)
    assert [finding for finding in findings(done) if finding.fix is not None] == []

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


# ---- layouts

#: A statement, and what --fix --unsafe-fixes makes of it.
LAYOUTS = {
    "a comment beside each argument": (
        'x = getattr(\n    c,\n    "recompute_method",  # the key\n    "block",  # the default\n)\n',
        "x = c.recompute_method  # the key  # the default\n",
    ),
    "a comment at the end of the line": (
        'x = c.get(\n    "recompute_method",  # key\n    "block",\n)  # end\n',
        'x = c["recompute_method"]  # key  # end\n',
    ),
    "a comment, and code behind it": (
        'f(getattr(c,  # why\n    "recompute_method", 1), 2)\n',
        "f((\n    c.recompute_method  # why\n), 2)\n",
    ),
    "a comment, and a bracket behind it": (
        'f(getattr(c,  # why\n    "recompute_method", 1))\n',
        "f(c.recompute_method  # why\n)\n",
    ),
    "a comment on a line of its own": (
        'x = (\n    c.get("recompute_method")\n    # or else\n    or "block"\n)\n',
        'x = (\n    c["recompute_method"]  # or else\n)\n',
    ),
    "comments around an argument that goes": (
        'm = OmegaConf.select(\n    c,  # c\n    "a.recompute_modules",  # key\n    default=["moe"],  # def\n)\n',
        'm = OmegaConf.select(\n    c,  # c\n    "a.recompute_modules",  # key\n    # def\n)\n',
    ),
    "an argument behind the one that goes": (
        'm = OmegaConf.select(c, "a.recompute_modules", default=["moe"], throw_on_missing=True)\n',
        'm = OmegaConf.select(c, "a.recompute_modules", throw_on_missing=True)\n',
    ),
    "parentheses": ('x = ((c).get(("recompute_method"), ("block")))\n', 'x = ((c)[("recompute_method")])\n'),
    "a backslash": ('x = c \\\n    .get("recompute_method", \\\n  1)\n', 'x = c["recompute_method"]\n'),
    "a container over two lines": ('x = getattr(a\n  .b, "recompute_method", 1)\n', "x = (a\n  .b.recompute_method)\n"),
    "calls in each other": (
        'x = int(str(c["a"].get("recompute_num_layers", f(1))))\n',
        'x = int(str(c["a"]["recompute_num_layers"]))\n',
    ),
    "a walrus for the container": ('x = getattr(d := c, "recompute_method", 1)\n', "x = (d := c).recompute_method\n"),
    "a walrus for the value": (
        'if y := c.get("recompute_method", "block"): pass\n',
        'if y := c["recompute_method"]: pass\n',
    ),
    "a walrus that would go": (
        'x = c["recompute_method"] if (has := "recompute_method" in c) else "block"\n',
        'x = c["recompute_method"] if (has := "recompute_method" in c) else "block"\n',
    ),
    "a decorator": (
        '@wraps(c.get("recompute_method", "block"))\ndef f(): pass\n',
        '@wraps(c["recompute_method"])\ndef f(): pass\n',
    ),
    "a statement in the line of another": (
        'if x: y = c.get("recompute_method", "block")\n',
        'if x: y = c["recompute_method"]\n',
    ),
    "semicolons": ('a; y = c.get("recompute_method", 1); b;\n', 'a; y = c["recompute_method"]; b;\n'),
    "line ends of Windows": (
        'x = getattr(\r\n    c,\r\n    "recompute_method", 1,  # é\r\n)\r\ny = 1\r\n',
        "x = c.recompute_method  # é\r\ny = 1\r\n",
    ),
    "line ends of Windows that stay": (
        'x = c.pop(\r\n    "recompute_method",\r\n    1,  # é\r\n)\r\n',
        'x = c.pop(\r\n    "recompute_method",\r\n    # é\r\n)\r\n',
    ),
    "tabs": (
        'if x:\n\ty = f(getattr(c, # a\n\t\t"recompute_method", 1), 2)\n',
        "if x:\n\ty = f((\n\t    c.recompute_method  # a\n\t), 2)\n",
    ),
    "a byte order mark": ('\ufeffx = c.get("recompute_method", "é")\n', '\ufeffx = c["recompute_method"]\n'),
    "a form feed": ('y = 1\n\x0c\nx = c.get(\x0c"recompute_method", 1)\n', 'y = 1\n\x0c\nx = c["recompute_method"]\n'),
    "a match": (
        'match x:\n    case [a] if c.get("recompute_method", 1):\n        y = c.get("recompute_method", 1)\n',
        'match x:\n    case [a] if c["recompute_method"]:\n        y = c["recompute_method"]\n',
    ),
    "a class": (
        'class A(B):\n    """é"""\n    x: str = c.get("recompute_method", 1)\n',
        'class A(B):\n    """é"""\n    x: str = c["recompute_method"]\n',
    ),
    "a lambda": ('f = lambda c: c.get("recompute_method", 1)\n', 'f = lambda c: c["recompute_method"]\n'),
    "a comprehension": ('x = [c.get("recompute_method", 1) for c in y]\n', 'x = [c["recompute_method"] for c in y]\n'),
    "an f-string": ("x = f'ä{c.get(\"recompute_method\", 7)!r:>9}'\n", "x = f'ä{c[\"recompute_method\"]!r:>9}'\n"),
    "an elif": (
        'if a: pass\nelif f(c.get("recompute_method", 1)):\n    pass\nelse: pass\n',
        'if a: pass\nelif f(c["recompute_method"]):\n    pass\nelse: pass\n',
    ),
    "no file end": ('x = getattr(c, # a\n "recompute_method", 1)', "x = c.recompute_method  # a"),
    "a list with a line for each": (
        'VALID_RECOMPUTE_MODULES = [\n    "core_attn",  # a\n    "foo",  # b\n    "mlp",  # c\n    # d\n]\n',
        'VALID_RECOMPUTE_MODULES = [\n    "core_attn",  # a\n    # b\n    "mlp",  # c\n    # d\n    "moe_act",\n'
        '    "layernorm",\n    "mla_up_proj",\n    "moe",\n    "shared_experts",\n]\n',
    ),
    "a type": (
        'RecomputeModules = Literal["core_attn", "foo"]\n',
        'RecomputeModules = Literal["core_attn", "foo"]\n',
    ),
    "a type with two modules": (
        'RecomputeModules = Literal["core_attn", "mlp", "foo"]\n',
        'RecomputeModules = Literal["core_attn", "mlp", "moe_act", "layernorm", "mla_up_proj", "moe", '
        '"shared_experts"]\n',
    ),
    "a set": (
        'VALID_RECOMPUTE_MODULES = {"core_attn", "foo", "mlp"}\n',
        'VALID_RECOMPUTE_MODULES = {"core_attn", "mlp", "moe_act", "layernorm", "mla_up_proj", "moe", '
        '"shared_experts"}\n',
    ),
    "a list without a bracket": (
        "VALID_RECOMPUTE_MODULES = 'core_attn', 'mlp'\n",
        "VALID_RECOMPUTE_MODULES = 'core_attn', 'mlp', 'moe_act', 'layernorm', 'mla_up_proj', 'moe', "
        "'shared_experts'\n",
    ),
    "a tuple of one": (
        'VALID_RECOMPUTE_MODULES = ("core_attn",)\n',
        'VALID_RECOMPUTE_MODULES = ("core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", '
        '"shared_experts")\n',
    ),
    "a list in a comment over lines": (
        "# Valid recompute_modules: core_attn, mlp, foo,\n#   moe, moe_act, layernorm, mla_up_proj, shared_experts.\n",
        "# Valid recompute_modules: core_attn, mlp,\n#   moe, moe_act, layernorm, mla_up_proj, shared_experts.\n",
    ),
}


def lint(data: bytes, path: str = "a.py") -> list[Diagnostic]:
    linter = Linter(Configurations({"mcore": "0.16.1"}, isolated=True))
    return linter.run([path], {path: data}).diagnostics


def fix_all(data: bytes) -> bytes:
    """The file after as many rounds as there is something to fix. What is said to be fixable is fixed in the end."""
    for _ in range(4):
        found = lint(data)
        fixable = [one for one in found if one.fix is not None]
        results = fixed(found, {"a.py": data}, unsafe=True)
        if not results:
            assert not fixable
            return data
        data = results["a.py"][0]
    raise AssertionError("it goes on for ever")


@pytest.mark.parametrize(("before", "after"), LAYOUTS.values(), ids=LAYOUTS)
def test_layout_and_comments_stay(before, after):
    assert fix_all(before.encode()).decode() == after


def test_an_encoding_that_a_cookie_names_stays():
    before = '# coding: latin-1\nx = getattr(c, "recompute_method", "é")  # ü\n'.encode("latin-1")
    assert fix_all(before) == "# coding: latin-1\nx = c.recompute_method  # ü\n".encode("latin-1")


#: Odd layouts of a read with a default; ``{s}`` is blank, a line break, or a comment.
READS = st.sampled_from(
    [
        "({s}c{s}.get({s}'recompute_method'{s},{s}'block'{s}){s})",
        "c['a'].get({s}'recompute_method',{s}default={s}'block'{s},{s})",
        "getattr({s}c{s}.a,{s}'recompute_method'{s},{s}('block'){s})",
        "getattr({s}c,{s}'recompute_method',{s}f({s}1{s}),{s})",
        "({s}c.get({s}'recompute_method'{s}){s}or{s}'block'{s})",
        "({s}c['recompute_method']{s}if{s}'recompute_method'{s}in{s}c{s}else{s}'block'{s})",
        "({s}'block'{s}if{s}'recompute_method'{s}not in{s}c{s}else{s}c{s}['recompute_method']{s})",
        "c.pop({s}'recompute_method'{s},{s}'block'{s})",
        "dict.get({s}c,{s}'recompute_method',{s}'block'{s})",
        "OmegaConf.select({s}c,{s}'a.recompute_method',{s}default='block'{s},{s}throw_on_missing=True{s})",
        "(w := c.get({s}'recompute_method',{s}'block'{s}))",
    ]
)
PLACES = st.sampled_from(
    [
        "x = {e}",
        "x: str = {e}  # beside",
        "a; x = {e}; b",
        "if a: x = {e}",
        "if f({e}): pass\nelif g({e}, 1):\n    pass",
        "@d({e})\nclass A(B, k={e}):\n    y = {e}",
        "def f(c):\n    return[{e}, 1]",
        "async def f(c):\n\tasync with g({e}) as h: await h({e})",
        "f = lambda c, *d: {e}",
        "x = [({e}, c) for c in y]",
        "match x:\n    case {{'a': [b]}}:\n        x = {e}",
        "for a in f({e}):\n  x[{e}] = 1\nelse:\n  y",
        "try:\n    x = {e} .b\nexcept E:\n    raise E({e}) from {e}",
        "x = not-1 + {e}",
        "print(*{e}, **{e})",
    ]
)
BLANKS = st.sampled_from([" ", " ", "\n      ", "  # {n}\n  ", "\n\n  # {n}\n  # {n}'\n ", " \\\n ", "\t"])


@st.composite
def statements(draw: st.DrawFn) -> str:
    number = iter(range(1000))

    def blank() -> str:
        return draw(BLANKS).format(n=f"comment {next(number)}")

    def read(form: str) -> str:
        head, *rest = form.split("{s}")
        return head + "".join(blank() + part for part in rest)

    place = draw(PLACES)
    head, *rest = place.split("{e}")
    return (head + "".join(read(draw(READS)) + part for part in rest)).replace("{{", "{").replace("}}", "}")


def comments_of(text: str) -> list[str]:
    """The comments of a file, also those that stand in one line, sorted."""
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return sorted(part.strip() for comment in found for part in comment.split("#")[1:])


@settings(max_examples=300, deadline=None)
@given(st.lists(statements(), min_size=1, max_size=3), st.sampled_from(["\n", "\r\n"]))
def test_every_comment_stays_and_nothing_else_changes(found, newline):
    text = "".join(f"'before {index}'\n{one}\n'after'  # é\n" for index, one in enumerate(found)).replace("\n", newline)
    ast.parse(text)
    fixed_text = fix_all(text.encode()).decode()
    ast.parse(fixed_text)
    assert comments_of(fixed_text) == comments_of(text)
    assert [one for one in lint(fixed_text.encode()) if one.code == "RCL301" and one.fix is not None] == []
    assert newline == "\n" or "\n" not in fixed_text.replace("\r\n", "")
    for index in range(len(found)):  # what stands around a statement stays, byte for byte
        assert f"'before {index}'{newline}" in fixed_text
    assert fixed_text.count(f"{newline}'after'  # é{newline}") == len(found)
