"""README's first command: the planted mistakes of examples/recipes, as a recorded output.

``RECORD=1 python -m pytest tests/hooks/test_examples_folder.py`` writes the record anew.
"""

from __future__ import annotations

import os

from tests.conftest import ROOT, python

RECORD = ROOT / "tests" / "hooks" / "examples_folder.txt"


def test_planted_mistakes():
    done = python("-m", "recompute_lint", "--isolated", "--mcore", "0.16.1", "examples/recipes", cwd=ROOT, NO_COLOR="1")
    assert done.returncode == 1, done.stderr
    if os.environ.get("RECORD"):
        RECORD.write_text(done.stdout)
    assert done.stdout == RECORD.read_text()
