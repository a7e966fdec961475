"""What a run on one recipe does not do, since it is mostly start-up."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT, python

RECIPES = {
    "nemo-rl": "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n",
    "megatron-lm": "MODEL_ARGS:\n  --recompute-granularity: selective\n",
    "verl": "megatron:\n  override_transformer_config:\n    recompute_granularity: full\n",
    "primus": "modules:\n  pre_trainer:\n    overrides:\n      recompute_granularity: full\n",
    "none": "a: 1\n",
}

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import typing
compiled = []
make = typing.ForwardRef.__init__
def note(self, text, *rest, **words):
    compiled.append(text)
    make(self, text, *rest, **words)
typing.ForwardRef.__init__ = note
from recompute_lint.hooks.cli import main
main(["-q", "a.yaml"])
print(compiled)
"""


@pytest.mark.parametrize("name", RECIPES)
def test_no_annotation_is_compiled(tmp_path, name):
    (tmp_path / "a.yaml").write_text(RECIPES[name])
    done = python("-c", PROGRAM, str(ROOT), cwd=tmp_path)
    assert done.stdout == "[]\n", done.stdout + done.stderr
