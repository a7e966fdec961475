"""What is read of one file is bounded, and each bound is exact: so many are read, and one more is too much."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module

import pytest

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.options import Configurations
from recompute_lint.schemas import reading
from tests.conftest import ROOT

FLAG = "--recompute-granularity selective"
HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
ROLE = "actor:\n  strategy_args:\n    strategy_name: megatron\n    strategy_config: {recompute_granularity: full}\n"
SITE = "t{}:\n  megatron_cfg:\n    recompute_granularity: full\n"

#: By what is said of more: the module and the name of the bound, a small value for it, and a file with so many.
BOUNDS: dict[str, tuple[str, str, int, str, Callable[[int], str]]] = {
    "has more than 4 documents": (
        "yaml.tree", "_MOST_DOCUMENTS", 4, "a.yaml", lambda n: "---\n".join([HEAD, *["x: 1\n"] * (n - 1)])),
    "has more than 4 mistakes": (
        "yaml.tree", "_MOST_PROBLEMS", 4, "a.yaml", lambda n: HEAD + "    activation_checkpointing: true\n" * n),
    "has more than 4 keys in one mapping of settings": (
        "yaml.settings", "MOST_KEYS", 4, "a.yaml", lambda n: HEAD + "".join(f"    k{i}: 1\n" for i in range(n - 1))),
    "has more than 4 places for settings": (
        "yaml.settings", "MOST_SITES", 4, "a.yaml", lambda n: "".join(map(SITE.format, range(n)))),
    "unfolds into more than 9 mappings and lists": (
        "yaml.search", "_MOST", 9, "a.yaml", lambda n: f"x: [{'{},' * (n - 5)}]\n{ROLE}"),
    "has more in recompute_modules than is looked at": (
        "yaml.tree", "_MAX_NODES", 6, "a.yaml", lambda n: f"{HEAD}    recompute_modules: [{'moe,' * (n - 1)}]\n"),
    "has more interpolations than are followed": (
        "yaml.interpolation", "_MAX_PARSED", 70, "a.yaml",
        lambda n: f"{HEAD}    recompute_num_layers: ${{mul:1,{'1' * (n - 9)}}}\n"),
    "has more than 3 items in recompute_modules": (
        "dialects.generic", "_MOST_MODULES", 3, "a.yaml",
        lambda n: f"x:\n  recompute_granularity: selective\n  recompute_modules: [{'mlp,' * n}]\n"),
    "has more than 4 commands with recompute settings": (
        "shell.words", "_MAX_COMMANDS", 4, "a.sh", lambda n: f"python t.py {FLAG}\n" * n),
    "has recompute settings in more than 4 branches": (
        "shell.words", "_MAX_BRANCHES", 4, "a.sh",
        lambda n: "".join(f"if [ $A{i} ]; then X='{FLAG}'; fi\n" for i in range(n)) + "python t.py $X\n"),
    "takes more than 9 steps to follow": (
        "shell.variables", "MAX_STEPS", 9, "a.sh",
        lambda n: f"X='{FLAG}'\n" + ". ./x\n" * (n - 1) + "python t.py $X\n"),
    "takes more than 12 steps to follow": (
        "shell.words", "MAX_STEPS", 12, "a.sh", lambda n: "Y=\nX=$Y\n" + f"python t.py {FLAG} $X\n" * (n - 2)),
    "has a command of more than 12 words": (
        "shell.words", "MAX_WORDS", 12, "a.sh", lambda n: f"X='a b c'\npython t.py $X {FLAG} {'x ' * (n - 7)}\n"),
    "has a command of more than 8 words": (
        "shell.syntax", "MAX_WORDS", 8, "a.sh", lambda n: f"python t.py {FLAG} {'x ' * (n - 4)}\n"),
    "has an array of more than 8 words": (
        "shell.syntax", "MAX_WORDS", 8, "a.sh", lambda n: f"X=({FLAG} {'x ' * (n - 2)})\n"),
    "begins more than 3 here-documents on one line": (
        "shell.syntax", "_MAX_BODIES", 3, "a.sh",
        lambda n: f"python t.py {FLAG}\ncat {' '.join(f'<<A{i}' for i in range(n))}\n"),
    "nests expansions or here-documents deeper than 3": (
        "shell.syntax", "_MAX_DEPTH", 3, "a.sh", lambda n: f"python t.py {FLAG} {'$(a ' * n}{')' * n}\n"),
    "nests expansions or here-documents deeper than 2": (
        "shell.syntax", "_MAX_DEPTH", 2, "a.sh",
        lambda n: f"bash <<A\ntrue\nA\ntrue ${{X}} $(true) ${{Y:-a}}\npython t.py {FLAG} {'$(a ' * n}{')' * n}\n"),
    "takes more than 20 steps to read": (
        "shell.syntax", "_MAX_STEPS", 20, "a.sh", lambda n: f"python t.py {FLAG}\n" + "\n" * (n - 10)),
    "has more than 5 lines": (
        "shell.sourced", "_MAX_LINES", 5, "a.sh", lambda n: f"python t.py {FLAG}\n" + "\n" * (n - 1)),
    "has more than 6 lines": (
        "shell.makefile", "_MAX_LINES", 6, "Makefile", lambda n: f"a:\n\tpython t.py {FLAG}\n" + "#\n" * (n - 2)),
    "has more than 3 constants that name recompute settings": (
        "python.tree", "_MOST_CONSTANTS", 3, "a.py",
        lambda n: "".join(f"K{i} = 'recompute_method'\n" for i in range(n)) + "x = c.get('recompute_method', 'x')\n"),
}  # fmt: skip


@pytest.mark.parametrize("said", BOUNDS)
def test_so_many_are_read_and_one_more_is_too_much(said, tmp_path, monkeypatch):
    module, name, most, file, text = BOUNDS[said]
    monkeypatch.setattr(import_module(f"recompute_lint.sources.{module}"), name, most)
    monkeypatch.chdir(tmp_path)

    def unread(count: int) -> list[tuple[str, str]]:
        (tmp_path / file).write_text(text(count))
        found = Linter(Configurations({"mcore": "0.16.1"}, isolated=True)).run([file]).diagnostics
        return [(one.message, one.help) for one in found if one.code == "RCL904"]

    assert unread(most) == []
    why = f"cannot be checked in full: it {said}"
    assert unread(most + 1) == [(why, "split the file, or leave it out with --exclude")]


#: Where each number in the table of docs/robustness.md stands, row by row.
DOCUMENTED = [
    ("sources.yaml.tree._MOST_NODES", "sources.yaml.tree._MOST_DOCUMENTS"),
    ("hooks.engine._MOST_SITES", "sources.yaml.settings.MOST_KEYS", "hooks.engine._MOST_ITEMS"),
    ("hooks.engine._MOST_FINDINGS",),
    ("sources.yaml.interpolation._MAX_PARSED",),
    ("sources.reader._MOST_FOLLOWED", "sources.reader._DEEPEST"),
    ("sources.shell.syntax._MAX_STEPS", "sources.shell.variables.MAX_STEPS"),
    ("sources.shell.syntax.MAX_WORDS", "sources.shell.variables._MAX_PIECES"),
    ("sources.shell.syntax._MAX_DEPTH", "sources.shell.syntax._MAX_BODIES"),
    (
        "sources.shell.sourced._MAX_FILES",
        "sources.shell.sourced._MAX_DEPTH",
        "sources.shell.sourced._MAX_CHARACTERS",
    ),
    ("sources.shell.sourced._MAX_LINES", "sources.shell.makefile._MAX_LINES"),
    ("sources.shell.words._MAX_COMMANDS", "sources.shell.words._MAX_BRANCHES"),
    ("sources.dialects.flagscale._MOST_PARTS",),
    ("sources.yaml.search._MOST",),
    ("sources.unread._MOST",),
    ("sources.reader._MOST_TOKENS", "sources.python.tree._MOST_CONSTANTS"),
    (
        "schemas.derivation.logic._MOST_STEPS",
        "schemas.derivation.logic._MOST_NODES",
        "schemas.derivation.logic._MOST_PROPOSITIONS",
        "schemas.derivation.logic._MOST_TERMS",
    ),
]


def test_the_documented_bounds_are_those_of_the_code():
    table = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8").partition("| of one file | at most |")[2]
    rows = re.findall(r"(?m)^\| [^|]* \| ([\d, and]+) \|$", table.partition("\n\n")[0])
    numbers = [tuple(int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d|\d", row)) for row in rows]
    for places, row in zip(DOCUMENTED, numbers, strict=True):
        names = [place.rpartition(".") for place in places]
        assert tuple(getattr(import_module(f"recompute_lint.{module}"), name) for module, _, name in names) == row


@pytest.mark.parametrize(
    ("most", "said"), [(0, "larger than 16 MiB"), (2**20, "larger than 1 MiB"), (999, "larger than 999 bytes")]
)
def test_a_file_of_so_many_bytes_is_read_and_one_of_more_is_not(most, said, tmp_path):
    size = most or reading.MAX_BYTES
    (tmp_path / "a").write_bytes(b"x" * size)
    assert len(reading.read(str(tmp_path / "a"), most)) == size
    (tmp_path / "a").write_bytes(b"x" * (size + 1))
    with pytest.raises(OSError, match=said):
        reading.read(str(tmp_path / "a"), most)


def test_what_is_no_file_is_not_read(tmp_path):
    with pytest.raises(IsADirectoryError):
        reading.read(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a regular file"):
        reading.read(str(tmp_path / "pipe"))
