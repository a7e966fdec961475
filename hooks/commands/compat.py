"""Print a table of recipes and Megatron-Core releases: ok, or the first mistake."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from ...lint_rules import registry
from ...lint_rules.check import check
from ...schemas import store
from ...schemas.choose import Choice
from ...schemas.contract import Contract
from ...sources.model import Finding
from ...sources.visible import visible
from ..contracts import Contracts
from ..engine import Linter
from ..report import Reporter
from .common import (
    UsageError,
    add_configuration_options,
    add_contract_options,
    configurations,
    fail,
    write,
    write_error,
    write_problem,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATHS", help="files and folders")
    parser.add_argument(
        "--releases", metavar="FROM..TO", default="", help="such as 0.12..0.19 (default: the newest of each series)"
    )
    parser.add_argument("--all", action="store_true", help="also list the recipes that are ok in every release")
    parser.add_argument("--output-format", choices=("text", "markdown", "json"), default="text")
    add_contract_options(parser)
    add_configuration_options(parser)


def run(namespace: argparse.Namespace) -> int:
    """Print the table and return the exit code: 1 if a recipe fails on the release that its project uses."""
    try:
        if ".." in (namespace.mcore or ""):
            namespace.releases, namespace.mcore = namespace.mcore, None
        versions = _versions(namespace.releases)
        options = configurations(namespace)
        contracts_of = Contracts(options)
        reporter = Reporter(options, contracts_of)
        linter = Linter(options, contracts=contracts_of, reporter=reporter)
        contracts = [store.load(version) for version in versions]
        rows: list[tuple[str, list[str]]] = []
        failing = False
        choices: dict[Choice, None] = {}
        for file in linter.files(namespace.paths):
            sites, problems = linter.sites(file)
            for problem in problems:
                failing = failing or registry.find(problem.rule).severity == "error"
                write_problem(problem)
            if not sites:
                continue
            choice = contracts_of.for_file(file)
            choices[choice] = None
            te = linter.options_for(file).te or None
            is_shown = partial(reporter.shows, file)
            cells = [_first(sites, contract, te, is_shown) for contract in contracts]
            failing = failing or _first(sites, choice.contract, te, is_shown) != "ok"
            if namespace.all or set(cells) != {"ok"}:
                rows.append((file, cells))
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    _print(namespace.output_format, versions, rows)
    for doubt in dict.fromkeys(doubt for choice in choices for doubt in choice.doubts):
        write_error(f"recompute-lint: warning: {doubt}")
    if namespace.output_format != "json":
        used = "; ".join(f"{choice.contract.version}: {choice.reason}" for choice in choices)
        write(
            f"{'' if rows else 'Every recipe is ok in every release. '}In use: megatron-core {used}.\n"
            if used
            else "No recipes.\n"
        )
    return 1 if failing else 0


def _versions(wanted: str) -> list[str]:
    """The releases that are compared: those in the range, or the newest of each series with other checks than before.

    Raises:
        UsageError: there is none in the range.
    """
    known = store.releases()
    if wanted:
        first, _, last = wanted.partition("..")
        low, high = store.version_key(first), store.version_key(last or first)
        known = [
            version
            for version in known
            if store.version_key(version)[: len(low)] >= low and store.version_key(version)[: len(high)] <= high
        ]
        if not known:
            raise UsageError(
                f"no release known is in {wanted}; known are {store.releases()[0]} to {store.releases()[-1]}"
            )
    return store.newest_of_each_series(known)


def _first(sites: list, contract: Contract, te: str | None, is_shown: Callable[[Finding], bool]) -> str:
    """The code of the first error, ``ok`` if there is none."""
    for site in sites:
        for finding in filter(is_shown, check(site, contract, te)):
            rule = registry.find(finding.rule)
            if (finding.severity or rule.severity) == "error":
                return rule.code
    return "ok"


def _print(format: str, versions: list[str], rows: list[tuple[str, list[str]]]) -> None:
    if format == "json":
        import json

        print(json.dumps([{"file": file, **dict(zip(versions, cells, strict=True))} for file, cells in rows], indent=2))
        return
    if not rows:
        return
    table = [["recipe", *versions], *([visible(file), *cells] for file, cells in rows)]
    if format == "markdown":
        table.insert(1, ["---"] * len(table[0]))
        write("".join(f"| {' | '.join(row)} |\n" for row in table))
        return
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")
