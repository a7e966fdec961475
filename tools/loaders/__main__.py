"""Run a framework's own loader and keep what it says, compare the linter with that, or print how far they agree.

python -m tools.loaders write NAME CHECKOUT      writes tests/loaders/tables/NAME.json
python -m tools.loaders compare NAME [CHECKOUT]  prints each difference, with a checkout those of shipped recipes too
python -m tools.loaders prune                    takes what agrees by now out of tests/loaders/differences.yaml
python -m tools.loaders agreement [--write]      prints the table of docs/loaders.md, or puts it there
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from . import agreement, compare, table

#: The frameworks, in the order of ``docs/loaders.md``.
NAMES = (
    "megatron_lm",
    "primus",
    "roll",
    "verl",
    "areal",
    "ms_swift",
    "megatron_bridge",
    "slime",
    "miles",
    "nemo",
    "nemo_rl",
    "rlinf",
    "skyrl",
    "flagscale",
)


def main(arguments: list[str]) -> int:
    """Do what the command line asks for; 1 where there are differences that are not listed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.loaders", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command in ("write", "compare"):
        made = commands.add_parser(command)
        made.add_argument("name", choices=NAMES)
        made.add_argument("checkout", type=Path, nargs=None if command == "write" else "?")
    commands.add_parser("prune")
    commands.add_parser("agreement").add_argument("--write", action="store_true")
    parsed = parser.parse_args(arguments)
    if parsed.command == "agreement":
        if parsed.write:
            agreement.document(NAMES)
        else:
            print(agreement.markdown(NAMES), end="")
        return 0
    if parsed.command == "prune":
        for name in NAMES:
            rows = table.read(name)
            found = compare.differences(rows["generated"], runs_model=rows["runs_model"])
            for row in agreement.prune(name, {each.name for each in found}):
                print(f"{name}: {row} agrees now")
        return 0
    if parsed.command == "write":
        module = importlib.import_module(f".{parsed.name}", __package__)
        generated, shipped = table.write(parsed.name, module.FRAMEWORK, parsed.checkout)
        print(f"{parsed.name}: {generated} generated inputs, {shipped} shipped recipes")
        return 0
    return _compare(parsed.name, parsed.checkout)


def _compare(name: str, checkout: Path | None) -> int:
    rows = table.read(name)
    found = {
        "generated": list(compare.differences(rows["generated"], runs_model=rows["runs_model"])),
        "shipped": list(compare.shipped_differences(rows["shipped"], checkout, runs_model=rows["runs_model"]))
        if checkout
        else [],
    }
    new = 0
    for what, each in found.items():
        known = agreement.listed(name, what)
        for one in each:
            new += one.name not in known
            kind = f"kind {known[one.name]}" if one.name in known else "not listed"
            print(f"{one.name} ({kind}): the framework {one.theirs}, the linter {one.ours}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
