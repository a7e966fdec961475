"""``python -m recompute_lint``: the command line."""

import sys

from .hooks.cli import main

if __name__ == "__main__":
    sys.exit(main())
