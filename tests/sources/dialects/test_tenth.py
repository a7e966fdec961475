"""Adding a framework is one file and one row, its overrides included: what docs/dialects.md shows does work."""

from __future__ import annotations

import re
import sys
import types

from recompute_lint.sources import dialects
from recompute_lint.sources.dialects import table

from ...conftest import ROOT


def test_the_tenth_framework_of_the_documentation(lint, monkeypatch) -> None:
    page = (ROOT / "docs" / "dialects.md").read_text()
    source = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    line = re.search(r"`(Dialect\(\"tenth\".*?\),)`", page)
    assert source and line
    package = dialects.__name__
    module = types.ModuleType(f"{package}.tenth")
    module.__package__ = package
    exec(source.group(1), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    added = eval(line.group(1).rstrip(","), {"Dialect": table.Dialect})
    for module in (dialects, table):
        monkeypatch.setattr(module, "DIALECTS", (added, *table.DIALECTS))
    text = "trainer:\n  recompute:\n    recompute_granularity: fulll\n"
    assert lint({"a.yaml": text}) == [("a.yaml", 3, 28, "RCL101")]
    command = "python t.py trainer.recompute.enabled={} trainer.recompute.recompute_granularity={}\n"
    words = {"b.sh": command.format("true", "fulll"), "c.sh": command.format("false", "selective")}
    found = [(path, code) for path, *_, code in lint({"a.yaml": "", **words})]
    assert found == [("b.sh", "RCL101"), ("c.sh", "RCL202")]
