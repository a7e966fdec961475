"""Compare recipes with Megatron-Core releases: ok, or the first mistake.

Recipes with the same verdicts are one group. html is a page with a matrix, which needs nothing else.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial

from ...lint_rules import registry
from ...lint_rules.check import check
from ...schemas import store
from ...schemas.choose import Choice
from ...schemas.contract import Contract
from ...sources.errors import shown
from ...sources.model import Finding, Site
from ..compat_report import OK, Cell, Row, as_html, as_json, as_markdown, as_text
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
    write_as_it_is,
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
    parser.add_argument("--output-format", choices=("text", "markdown", "json", "html"), default="text")
    add_contract_options(parser)
    add_configuration_options(parser)


def run(namespace: argparse.Namespace) -> int:
    """Print the table and return the exit code: 1 if a recipe fails on the release that its project uses."""
    try:
        if ".." in (namespace.mcore or ""):
            namespace.releases, namespace.mcore = namespace.mcore, None
        contracts = {version: store.load(version) for version in _versions(namespace.releases)}
        options = configurations(namespace)
        contracts_of = Contracts(options)
        reporter = Reporter(options, contracts_of)
        linter = Linter(options, contracts=contracts_of, reporter=reporter)
        recipes: list[tuple[str, list[Site], Choice]] = []
        failing = False
        for file in linter.files(namespace.paths):
            sites, problems = linter.sites(file)
            for problem in problems:
                failing = failing or registry.find(problem.rule).severity == "error"
                write_problem(problem)
            if sites:
                recipes.append((file, sites, contracts_of.for_file(file)))
        for _, _, choice in recipes:
            if not choice.assumed:
                contracts[choice.contract.version] = choice.contract
        releases = sorted(contracts, key=store.version_key)
        rows = []
        for file, sites, choice in recipes:
            te = linter.options_for(file).te or None
            first = partial(_first, sites, te=te, is_shown=partial(reporter.shows, file))
            cells = {name: first(contracts[name]) for name in releases}
            rows.append(Row(file, cells, choice.contract.version, first(choice.contract), choice.reason))
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    _print(namespace, rows, releases)
    for doubt in dict.fromkeys(doubt for _, _, choice in recipes for doubt in choice.doubts):
        write_error(f"recompute-lint: warning: {doubt}")
    return 1 if failing or any(row.in_use.verdict != OK for row in rows) else 0


def _print(namespace: argparse.Namespace, rows: list[Row], releases: list[str]) -> None:
    format = namespace.output_format
    told = [row for row in rows if namespace.all or any(cell.verdict != OK for cell in row.cells.values())]
    if format == "json":
        write_as_it_is(as_json(told))
    elif format == "html":
        write(as_html(told, releases))
    else:
        used = "; ".join(dict.fromkeys(f"{row.used}: {row.because}" for row in rows))
        end = f"In use: megatron-core {used}.\n" if used else "No recipes.\n"
        if not told:
            write(f"Every recipe is ok in every release. {end}" if rows else end)
        elif format == "markdown":
            write(as_markdown(told, releases) + end)
        else:
            listed = as_text(rows, releases, all=namespace.all)
            write(f"{listed}\nCompared: {', '.join(releases)}. {end}")


def _versions(wanted: str) -> list[str]:
    """The releases that are compared: those in the range, or the newest of each series with other checks than before.

    Raises:
        UsageError: it is no range, or there is none in it.
    """
    known = store.releases()
    if wanted:
        match = re.fullmatch(r"(?P<first>\d+(?:\.\d+)*)?(?P<to>\.\.)?(?P<last>\d+(?:\.\d+)*)?", wanted)
        if match is None or wanted == "..":
            raise UsageError(f"--releases: {shown(wanted)} is not a range of releases; write 0.12..0.19, or 0.12..")
        low = store.version_key(match["first"] or known[0])
        high = store.version_key(match["last"] or (known[-1] if match["to"] else match["first"]))
        known = [
            version
            for version in known
            if store.version_key(version)[: len(low)] >= low and store.version_key(version)[: len(high)] <= high
        ]
        if not known:
            order = "; the older comes first" if low > high else ""
            of = f"known are {store.releases()[0]} to {store.releases()[-1]}"
            raise UsageError(f"no release known is in {wanted}; {of}{order}")
    return store.newest_of_each_series(known)


def _first(sites: list[Site], contract: Contract, *, te: str | None, is_shown: Callable[[Finding], bool]) -> Cell:
    """The first error that a release reports."""
    for site in sites:
        for finding in filter(is_shown, check(site, contract, te)):
            rule = registry.find(finding.rule)
            if (finding.severity or rule.severity) == "error":
                return Cell(rule.code, finding.message, finding.span.line)
    return Cell(OK)
