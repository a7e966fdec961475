"""Options that several commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...lint_rules import registry
from ...sources.model import Finding
from ...sources.visible import visible, visible_lines
from ..option_table import codes, dialect, release
from ..options import Configurations, UsageError

if TYPE_CHECKING:
    import argparse


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Options that say which rules run."""
    rules = parser.add_argument_group("which rules")
    rules.add_argument("--select", metavar="CODES", help="only these rules: codes or their beginnings (default: all)")
    rules.add_argument("--extend-select", metavar="CODES", help="these rules as well")
    rules.add_argument("--ignore", metavar="CODES", help="not these rules")


def add_contract_options(parser: argparse.ArgumentParser) -> None:
    """Options that say what the files are linted against."""
    group = parser.add_argument_group("what is valid")
    group.add_argument(
        "--mcore",
        metavar="VERSION",
        help="the megatron-core in use: a release, a series (0.16: its newest), a source tree, or 'installed'",
    )
    group.add_argument("--te", metavar="VERSION", help="the Transformer Engine in use")
    group.add_argument(
        "--facts",
        metavar="FIELD=VALUE",
        action="append",
        help="a field of the model that the files do not set: num_moe_experts=8",
    )
    group.add_argument("--model", metavar="PATH", help="the model's Hugging Face config.json, or its folder")
    group.add_argument("--dialect", metavar="NAME", help="read every file as one of this framework")


def add_configuration_options(parser: argparse.ArgumentParser) -> None:
    """Options that say where configuration comes from."""
    group = parser.add_argument_group("configuration")
    group.add_argument(
        "--config", metavar="FILE", help="use this configuration file, not the nearest to each linted file"
    )
    group.add_argument("--isolated", action="store_true", help="read no configuration file")


def configurations(namespace: argparse.Namespace) -> Configurations:
    """The options of files, as the command line and configuration files have them.

    Raises:
        UsageError: an option's value is wrong.
    """
    overrides: dict[str, Any] = {}
    by: dict[str, str] = getattr(namespace, "by", {})  # options that environment variables state
    for name in ("mcore", "te", "model", "baseline"):
        value = getattr(namespace, name, None)
        if value is not None:
            overrides[name] = release(value, by.get("te", "--te")) if name == "te" else value
    if "mcore" in by:
        overrides["mcore_by"] = by["mcore"]
    for name in ("mcore", "model", "baseline"):
        if overrides.get(name):
            _check(name, overrides[name], by.get(name, f"--{name}"))
    if getattr(namespace, "dialect", None) is not None:
        overrides["dialect"] = dialect(namespace.dialect, "--dialect")
    if getattr(namespace, "facts", None):
        overrides["facts"] = _facts(namespace.facts)
    if getattr(namespace, "write_baseline", None):
        overrides["baseline"] = ""  # what the old one lists is to be in the new one, too
    for name in ("select", "extend_select", "ignore"):
        value = getattr(namespace, name, None)
        if value is not None:
            overrides[name] = codes(value.replace(",", " ").split(), "--" + name.replace("_", "-"))
    if getattr(namespace, "exclude", None):
        overrides["exclude"] = tuple(pattern for value in namespace.exclude for pattern in value.split(","))
    isolated = getattr(namespace, "isolated", False)
    try:
        return Configurations(overrides, getattr(namespace, "config", None), isolated=isolated)
    except UsageError as error:
        raise UsageError(f"{by['config']}: {error}" if "config" in by else str(error)) from None


def _check(name: str, value: str, where: str) -> None:
    """Check an option that names something, also where no file turns out to need it."""
    if name == "baseline":
        from ..baseline import Baseline

        Baseline(value)
        return
    from ..stated import check_model, check_release

    (check_release if name == "mcore" else check_model)(value, where)


def pairs(statements: list[str] | None, option: str) -> dict[str, Any]:
    """The values that an option states of fields, ``FIELD=VALUE,FIELD=VALUE``, given once or more often.

    Raises:
        UsageError: one of them is no such statement.
    """
    from ...sources.facts import WrongFacts, parse

    try:
        return dict(parse(part) for statement in statements or () for part in statement.split(","))
    except WrongFacts as error:
        raise UsageError(f"{option}: {error}") from None


def _facts(statements: list[str]) -> tuple[tuple[str, Any], ...]:
    from ..stated import check_facts

    stated = tuple(pairs(statements, "--facts").items())
    check_facts(stated, "--facts")
    return stated


def write(text: str) -> None:
    """Write lines to standard output, with nothing in them that a terminal would act on."""
    write_as_it_is(visible_lines(text))


def write_as_it_is(text: str) -> None:
    """Write what is visible already, and may be in color, or is data; also what the encoding does not have."""
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def write_to(path: str | None, text: str) -> None:
    """Write to a file, or to standard output where there is none, or ``-``, as :func:`write_as_it_is` does.

    Raises:
        OSError: it cannot be written.
    """
    if path and path != "-":
        from ..replace import write as replace

        replace(path, text.encode("utf-8", "backslashreplace"))
        return
    write_as_it_is(text)
    if sys.stdout is not None:
        sys.stdout.flush()


def write_error(text: str) -> None:
    """Write a line to standard error; Python escapes what its encoding does not have."""
    print(visible(text), file=sys.stderr)


def write_problem(problem: Finding) -> None:
    """Write what is wrong with a file, and where, to standard error."""
    span = problem.span
    code = registry.find(problem.rule).code
    write_error(f"{span.path}:{span.line}:{span.column}: {code} {problem.message}")


def is_terminal() -> bool:
    """Whether standard output is one."""
    return sys.stdout is not None and sys.stdout.isatty()


def fail(error: Exception) -> int:
    """Say on standard error why the command could not run."""
    write_error(f"recompute-lint: {error}")
    return 2


__all__ = [
    "UsageError",
    "add_configuration_options",
    "add_contract_options",
    "add_rule_options",
    "configurations",
    "fail",
    "is_terminal",
    "pairs",
    "write",
    "write_as_it_is",
    "write_error",
    "write_problem",
]
