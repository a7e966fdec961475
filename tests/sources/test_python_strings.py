"""Strings of Python programs that are scripts, YAML or JSON."""

from __future__ import annotations

import pytest

MCORE = {"mcore": "0.16.1"}
YAML = "a:\n  recompute_granularity: fulll\n  recompute_method: block\n"
FLAGS = "--recompute-granularity fulll --recompute-method block --recompute-num-layers 1"


def check(lint, text: str) -> None:
    before = text[: text.index("fulll")]
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert lint({"a.py": text}, **MCORE) == [("a.py", *place, "RCL101")]
    assert lint({"a.py": text.replace("fulll", "full")}, **MCORE) == []


@pytest.mark.parametrize(
    "text",
    [
        f'c = yaml.safe_load("""\n{YAML}""")\n',
        f"c = safe_load('''{YAML}''')\n",
        f'c = OmegaConf.create("""\\\n{YAML}""")\n',
        f'c = yaml.load(textwrap.dedent("""\n{YAML}"""), Loader)\n',
        "c = yaml.safe_load('recompute_granularity: fulll')\n",
    ],
)
def test_what_is_parsed(lint, text: str) -> None:
    check(lint, text)


def test_json(lint) -> None:
    text = 'c = json.loads(\'{"recompute_granularity": "fulll"}\')\n'
    assert lint({"a.py": text}, **MCORE) == [("a.py", 1, text.index('"fulll') + 1, "RCL101")]


@pytest.mark.parametrize(
    "text",
    [
        f'S = """#!/bin/bash\npython t.py {FLAGS}\n"""\n',
        f'S = f"""#!/bin/bash\n#SBATCH -N {{x}}\nsrun python t.py --x {{x}} \\\\\n    {FLAGS} "$M"\n"""\n',
        f"S = r'''#!/usr/bin/env bash\npython t.py \\\n {FLAGS}\n'''\n",
    ],
)
def test_scripts(lint, text: str) -> None:
    check(lint, text)


@pytest.mark.parametrize(
    "text",
    [
        f'c = """\n{YAML}"""\n',
        f'c = load("""\n{YAML}""")\n',
        f'c = yaml.safe_load(f"""\n{YAML}""")\n',
        f'with raises(ValueError):\n    c = yaml.safe_load("""\n{YAML}""")\n',
        'c = yaml.safe_load("recompute_granularity: fulll\\nrecompute_method: block")\n',
        'S = """#!/usr/bin/env python\nx = "--recompute-granularity fulll"\n"""\n',
    ],
)
def test_what_is_left(lint, text: str) -> None:
    assert lint({"a.py": text}, **MCORE) == []
