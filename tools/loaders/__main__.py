"""``python -m tools.loaders NAME CHECKOUT`` and ``python -m tools.loaders agreement``."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from . import table

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
)


def main(arguments: list[str]) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.loaders", description=__doc__)
    parser.add_argument("name", choices=(*NAMES, "agreement"), help="a framework, or what the linter agrees with")
    parser.add_argument("checkout", nargs="?", type=Path, help="a checkout of the framework, with its submodules")
    parser.add_argument("--shipped", type=Path, help="for agreement: a folder with checkouts, by repository's name")
    parsed = parser.parse_args(arguments)
    if parsed.name == "agreement":
        from . import compare

        print(compare.summary(NAMES, parsed.shipped))
        return 0
    if parsed.checkout is None:
        parser.error("a checkout is needed")
    module = importlib.import_module(f".{parsed.name}", __package__)
    generated, shipped = table.write(parsed.name, module.FRAMEWORK, parsed.checkout)
    print(f"{parsed.name}: {generated} generated inputs, {shipped} shipped recipes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
