"""PyYAML works as ever after it was imported in a hurry."""

from __future__ import annotations

import re
import sys

import pytest

from tests.conftest import ROOT, python

#: What PyYAML's own parser and resolver have regular expressions for.
TEXT = r"""
yes: [yes, No, on, ~, 12, 0b11, 1_000, 017, 0x1F, 1.5, 1e3, .inf, 190:20:30, 2001-12-14, 2001-12-14t21:59:43.10-05:00]
merged: {<<: {a: 1}, =: 2}
text: [a, "1", é]
"""

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "quickly":
    import recompute_lint.sources.yaml.tree
import yaml
print(yaml.load(sys.argv[3], yaml.SafeLoader))
try:
    yaml.load("a: \\x07", yaml.SafeLoader)
except yaml.YAMLError as error:
    print(error)
print(yaml.safe_dump({"a": [1, "1", None, "yes", "2001-12-14"]}))
import copy, re
print([[tag for tag, _ in rows] for rows in copy.deepcopy(yaml.SafeLoader.yaml_implicit_resolvers).values()])
print(isinstance(re.compile("a"), re.Pattern), isinstance(yaml.reader.Reader.NON_PRINTABLE, re.Pattern))
"""


def test_it_loads_and_dumps_the_same(tmp_path):
    quickly, plainly = (
        python("-c", PROGRAM, str(ROOT), how, TEXT, cwd=tmp_path, PYTHONIOENCODING="utf-8").stdout.splitlines()
        for how in ("quickly", "plainly")
    )
    assert quickly[:-1] == plainly[:-1] != []
    assert (quickly[-1], plainly[-1]) == ("True False", "True True")


def test_beside_other_threads_it_is_imported_as_it_is(tmp_path):
    program = "import threading, time; threading.Thread(target=time.sleep, args=(1,)).start()\n" + PROGRAM
    assert python("-c", program, str(ROOT), "quickly", TEXT, cwd=tmp_path).stdout.endswith("True True\n")


@pytest.mark.parametrize("name", ["_arguments", "__deepcopy__", "_x"])
def test_a_late_expression_has_no_attributes_of_its_own_making(name):
    from recompute_lint.sources.yaml.pyyaml import _Late

    with pytest.raises(AttributeError):
        getattr(_Late.__new__(_Late), name)
    assert _Late("(a)b", re.IGNORECASE).match("AB")[1] == "A"
    assert sys.modules["yaml"].safe_load("a: 1") == {"a": 1}
