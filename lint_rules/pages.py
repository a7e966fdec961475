"""The pages of the rules: what ``explain`` prints, from the docstring and the examples of the rule's module."""

from __future__ import annotations

import inspect
import re
import textwrap

from ..schemas import store
from ..schemas.contract import Contract, Guard
from ..schemas.names import FIELDS
from . import registry
from .finding import Example
from .links import linked


def summary(code: str) -> str:
    """The first sentence of the rule's page."""
    return _doc(code).partition("\n")[0]


def page(code: str) -> str:
    """The whole page: docstring, Megatron-Core's checks behind the rule, how to silence it, examples."""
    rule = registry.RULES[code]
    module = registry.load(code)
    fixes = ", fixable" if fixable(code) else ""
    head = f"{code} {rule.name} ({rule.severity}{fixes}, since recompute-lint {rule.since})"
    parts = [head, _doc(code), *_source(code), _silence(code)]
    parts.extend(_example("Example", example) for example in module.INVALID[:2])
    parts.extend(_example("Fine", example) for example in module.VALID[:1])
    return "\n\n".join(parts) + "\n"


def fixable(code: str) -> bool:
    """Whether the rule puts some of its findings right: one of its examples says what becomes of it."""
    return any(example.fixed is not None for example in registry.load(code).INVALID)


def sections(code: str) -> dict[str, str]:
    """The parts of the rule's docstring by their headings; the first sentence by an empty one."""
    found = {"": ""}
    heading = ""
    for line in _doc(code).splitlines():
        if line and not line.startswith(" "):
            heading = line if found[""] else ""
            found[heading] = "" if heading else line
        elif heading:
            found[heading] += f"{line[4:]}\n"
    return {name: text.strip("\n") for name, text in found.items()}


def markdown(code: str) -> str:
    """The page as Markdown, with headings and code blocks."""
    rule, module = registry.RULES[code], registry.load(code)
    fixes = ", fixable" if fixable(code) else ""
    about = f"Severity: {rule.severity}{fixes}. Since recompute-lint {rule.since}."
    rows = [f"# {rule.name} ({code})", summary(code), about]
    for heading, text in sections(code).items():
        if heading:
            rows.append(f"## {heading}\n\n{text}")
    if sources(code):
        told = f"Such {_kind(code)} exist since megatron-core {since(code)}.\n\n" if since(code) else ""
        links = "\n".join(f"* <{place}>" for place in sources(code))
        rows.append(f"## Source\n\n{told}{links}")
    rows.append("## Silence\n\n" + textwrap.dedent(_silence(code).partition("\n")[2]))
    for title, examples in (("Example", module.INVALID[:2]), ("Fine", module.VALID[:1])):
        for example in examples:
            head, _, text = _example(title, example).partition("\n")
            rows.append(f"## {head}\n\n{text}")
    return "\n\n".join(rows) + "\n"


def _doc(code: str) -> str:
    """The docstring, with code in single backticks as Markdown and terminals have it."""
    return re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(registry.load(code).__doc__ or ""))


def sources(code: str) -> list[str]:
    """Links to what the rule is about: checks or fields of the newest Megatron-Core, or what the module cites; its
    ``cited(contract)`` has places in files, which become links, or links.
    """
    newest, module = store.load(store.releases()[-1]), registry.load(code)
    checks = [guard.source for guard in _guards(code, newest)]
    fields = [place for place in map(newest.source_of, getattr(module, "FIELDS", ())) if place]
    cited = module.cited(newest) if hasattr(module, "cited") else ()
    return list(dict.fromkeys(linked(place, newest) for place in checks or [*cited, *fields]))


def since(code: str) -> str | None:
    """The first Megatron-Core with a check that the rule reports, or else with a field that it is about; None of a rule
    that is about neither.
    """
    if _guards(code, store.load(store.releases()[-1])):
        return _first(code)
    firsts = [FIELDS[name][0] for name in getattr(registry.load(code), "FIELDS", ())]
    return min(firsts, key=store.version_key, default=None)


def _kind(code: str) -> str:
    return "checks" if _guards(code, store.load(store.releases()[-1])) else "settings"


def _source(code: str) -> list[str]:
    rows, first = sources(code), since(code)
    if not rows:
        return []
    since_when = f" (such {_kind(code)} exist since {first})" if first else ""
    of_release = all("/core_v" in row for row in rows)
    told = [f"    megatron-core {store.releases()[-1]}{since_when}:"] if of_release else []
    return ["\n".join(["Source", *told, *(f"    {row}" for row in rows)])]


def _guards(code: str, contract: Contract) -> list[Guard]:
    return [guard for guard in contract.guards if guard.rule == registry.RULES[code].name]


def _first(code: str) -> str | None:
    """The first release with a check that the rule reports."""
    files = store.index()["releases"]
    first_of = {files[release]: release for release in reversed(store.releases())}  # one release for each contract
    releases = sorted(first_of.values(), key=store.version_key)
    return next((release for release in releases if _guards(code, store.load(release))), None)


def _silence(code: str) -> str:
    return (
        f"Silence\n    `# noqa: {code}` or `# recompute-lint: disable={code}` at the end of the line;\n"
        f"    `# recompute-lint: disable-next-line={code}` on the line above it;\n"
        f"    `disable={code}` on a line of its own at the top, for a file; further down, up to `enable={code}`;\n"
        f'    `ignore = ["{code}"]` in the configuration, for a project.'
    )


def _example(title: str, example: Example) -> str:
    written = {name: value if isinstance(value, str) else ",".join(value) for name, value in example.options.items()}
    options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in written.items())
    rows = []
    for number, line in enumerate(example.text.splitlines(), 1):
        rows.append(f"{line}    # <-- reported" if number in example.lines else line)
    shown = [f"{title} ({example.filename}{options})", _indented("\n".join(rows))]
    for name, text in example.beside.items():
        shown.extend((f"  with {name}", _indented(text.rstrip())))
    return "\n".join(shown)


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
