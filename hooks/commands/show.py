"""Print the effective recompute settings of each site of a recipe, each with its origin."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ...schemas import store
from ..describe import as_data, as_text
from ..engine import Linter
from .common import (
    UsageError,
    add_configuration_options,
    add_contract_options,
    configurations,
    fail,
    write,
    write_problem,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="+", metavar="RECIPE", help="files and folders")
    add_contract_options(parser)
    add_configuration_options(parser)
    parser.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="text or json (default: text)"
    )


def run(namespace: argparse.Namespace) -> int:
    """Print the sites and return the exit code: 1 when there are none."""
    try:
        linter = Linter(configurations(namespace))
        found: list[dict[str, Any]] = []
        broken = False
        for file in linter.files(namespace.paths):
            sites, problems = linter.sites(file)
            contract = linter.contract(file).contract
            facts = dict(linter.options_for(file).facts)
            found.extend(as_data(site, contract, facts) for site in sites)
            for problem in problems:
                broken = True
                write_problem(problem)
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    if namespace.output_format == "json":
        import json

        print(json.dumps(found, indent=2))
    else:
        write("\n".join(as_text(site) for site in found))
        if not found and not broken:
            print("No recompute settings found.", file=sys.stderr)
    return 1 if broken or not found else 0
