"""``python -m recompute_lint``: the command line."""

import sys

from .hooks.cli import run

if __name__ == "__main__":
    sys.exit(run())
