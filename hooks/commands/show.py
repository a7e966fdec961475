"""Print the effective recompute settings of each site of a recipe, each with its origin."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ...lint_rules.wording import shown
from ...schemas import store
from ...schemas.contract import Contract
from ...sources.keys import RECOMPUTE_KEYS
from ...sources.model import UNKNOWN, Site
from ...sources.visible import visible
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
            found.extend(_site(site, contract.defaults, facts) for site in sites)
            for problem in problems:
                broken = True
                write_problem(problem)
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    if namespace.output_format == "json":
        import json

        print(json.dumps(found, indent=2))
    else:
        write("\n".join(_text(site) for site in found))
        if not found and not broken:
            print("No recompute settings found.", file=sys.stderr)
    return 1 if broken or not found else 0


def described(site: Site, contract: Contract) -> str:
    """What ``show`` prints of a site."""
    return _text(_site(site, contract.defaults, {}))


def _site(site: Site, defaults: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """What there is to show of a site."""
    fields = [name for name in RECOMPUTE_KEYS if name in site.effective or (site.closed and name in defaults)]
    settings = []
    for name in sorted(fields):
        if name in site.effective:
            value = site.effective[name]
            setting = site.origin(name)
            known = value is not UNKNOWN
            unwritten = "stated as a fact" if name in facts else f"set by {site.dialect}"
            origin = f"{setting.span.path}:{setting.span.line}" if setting else unwritten
            if setting and setting.name != name:
                origin = f"{site.dialect}, from {setting.name} at {origin}"
        else:
            value, known, origin = defaults[name], True, "megatron-core's default"
        settings.append({"field": name, "value": value if known else None, "known": known, "origin": origin})
    dropped = [
        {
            "key": entry.setting.name,
            "origin": f"{entry.setting.span.path}:{entry.setting.span.line}",
            "reason": entry.reason,
        }
        for entry in site.dropped
    ]
    return {
        "file": site.file,
        "line": site.anchor.line,
        "site": site.path,
        "dialect": site.dialect,
        "closed": site.closed,
        "settings": settings,
        "dropped": dropped,
    }


def _text(site: dict[str, Any]) -> str:
    kind = (
        "a field not listed has megatron-core's default"
        if site["closed"]
        else "a field not listed comes from elsewhere"
    )
    rows = [f"{site['file']}  {site['site'] or '(whole file)'}  [{site['dialect']}; {kind}]"]
    width = max([len(entry["field"]) for entry in site["settings"]], default=0)
    values = [shown(entry["value"]) if entry["known"] else "(known at run time only)" for entry in site["settings"]]
    value_width = max(map(len, values), default=0)
    for entry, value in zip(site["settings"], values, strict=True):
        rows.append(f"  {entry['field']:{width}}  {value:{value_width}}  {entry['origin']}")
    rows.extend(f"  {entry['key']} {entry['reason']}  {entry['origin']}" for entry in site["dropped"])
    if not site["settings"]:
        rows.append("  nothing that is known")
    return "\n".join(map(visible, rows)) + "\n"
