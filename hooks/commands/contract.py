"""Show what a Megatron-Core release allows, compare two, or derive a contract from a source tree."""

from __future__ import annotations

import argparse
import json
import sys

from ...lint_rules.registry import find
from ...schemas import store
from ...schemas.choose import choose
from ...schemas.contract import Contract
from ...schemas.names import MODULES
from ...sources.projects import project_root
from ...sources.text import reason_of
from .common import UsageError, fail, write, write_error

_RELEASE = "a release, a series (0.16: its newest), a source tree, or 'installed'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="show|diff|derive")
    show = actions.add_parser("show", help="modules and checks of a release", description="Show a contract.")
    show.add_argument("release", nargs="?", default="", help=f"{_RELEASE} (default: the one in use here)")
    show.add_argument("--output-format", choices=("text", "json"), default="text", help="json prints the JSON Schema")
    diff = actions.add_parser("diff", help="what changed between two", description="Compare two contracts.")
    diff.add_argument("old", metavar="OLD", help=_RELEASE)
    diff.add_argument("new", metavar="NEW", help=_RELEASE)
    derive = actions.add_parser("derive", help="a contract from a source tree", description="Derive a contract.")
    derive.add_argument(
        "path", metavar="PATH", help="a checkout of Megatron-LM, an unzipped wheel, or a site-packages folder"
    )
    derive.add_argument("-o", "--output", metavar="FILE", help="write the JSON Schema there")
    for action in (show, diff):
        action.add_argument("--no-cache", action="store_true", help="do not keep contracts derived from a source tree")


def run(namespace: argparse.Namespace) -> int:
    """Run the action and return the exit code."""
    try:
        if namespace.action == "show":
            return _show(namespace)
        if namespace.action == "diff":
            return _diff(namespace)
        return _derive(namespace)
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)


def _say(*lines: str) -> None:
    write("".join(f"{line}\n" for line in lines))


def _load(release: str, namespace: argparse.Namespace) -> Contract:
    return choose(release, project_root("."), cache=not namespace.no_cache).contract


def _show(namespace: argparse.Namespace) -> int:
    contract = _load(namespace.release, namespace)
    if namespace.output_format == "json":
        print(json.dumps(contract.schema, indent=1))
        return 0
    _say(f"megatron-core {contract.version}")
    _say("", "Modules that can be recomputed:")
    for module in contract.modules:
        _say(f"  {module:20} since {MODULES[module]}" if module in MODULES else f"  {module}")
    if not contract.modules:
        _say("  none: this release does not have recompute_modules")
    _say("", "Fields:")
    for name in contract.recompute:
        default = json.dumps(contract.defaults.get(name))
        _say(f"  {name:30} default {default:8} {contract.source_of(name)}")
    _say("", "Rejected configurations:")
    for guard in contract.guards:
        requires = "".join(f"; unless {name} {wanted}" for name, wanted in guard.requires.items())
        _say(f"  {find(guard.rule).code} {guard.rule}: {guard.condition}{requires}", f"{'':9}{guard.source}")
    for text in contract.schema.get("x-untranslated", ()):
        _say(f"  not translated, line {text['line']}: {text['text']}")
    return 0


def _diff(namespace: argparse.Namespace) -> int:
    from ...schemas.compare import compare

    old, new = _load(namespace.old, namespace), _load(namespace.new, namespace)
    sections = compare(old, new)
    _say(f"megatron-core {old.version} -> {new.version}")
    for title, rows in sections:
        _say("", f"{title}:")
        for row in rows:
            _say(f"  {row}")
    if not sections:
        _say("", "Nothing about recomputation changed.")
    return 0


def _derive(namespace: argparse.Namespace) -> int:
    from ...schemas.tree_cache import freshly_derived

    schema = freshly_derived(namespace.path).schema
    for entry in schema.get("x-untranslated", ()):
        write_error(f"recompute-lint: warning: line {entry['line']} is not translated: {entry['text']}")
    text = json.dumps(schema, indent=1) + "\n"
    if not namespace.output:
        sys.stdout.write(text)
        return 0
    from ..replace import write as replace

    try:
        replace(namespace.output, text.encode())
    except OSError as error:
        raise UsageError(f"{namespace.output}: cannot be written: {reason_of(error)}") from None
    return 0
