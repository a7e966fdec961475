"""Inputs that are small to write and large to read, each with what must be said of it.

No exponent, no square: whatever a file holds, it is read within its budget, or RCL904 says that it is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

from tests.fuzz.texts import FLAGS as F
from tests.fuzz.texts import HEAD

PYTHON = "cfg.model.recompute_granularity = 'full'\n"


#: What Python reads from 3.12 on; before that libcst does, which overflows the stack where a program nests deeply.
NEWER = "type X = int\n"
NOT_READ = "RCL905 not valid Python: it is nested too deeply" if sys.version_info < (3, 12) else ""


class Bomb(NamedTuple):
    """A folder of files."""

    #: By path; told how many bytes a long one may have.
    files: Callable[[int], dict[str, str]]
    #: What the report must have in it; nothing, where no mistake may be found.
    said: str = ""
    options: tuple[str, ...] = ()


def fill(unit: str, size: int) -> str:
    """``unit`` over and over, ``size`` bytes in all."""
    return unit * (size // len(unit.encode()))


BOMBS = {
    "yaml docs 50k": Bomb(
        lambda n: {"a.yaml": "---\n" * 50000 + HEAD},
        said="RCL904 cannot be checked in full: it has more than 1,000 documents",
    ),
    "yaml docs with sites": Bomb(
        lambda n: {"a.yaml": ("---\n" + HEAD) * 4000},
        said="RCL904 cannot be checked in full: it has more than 1,000 documents",
    ),
    "yaml docs 16M": Bomb(
        lambda n: {"a.yaml": HEAD + fill("---\n", n)},
        said="RCL904 cannot be checked in full: it has more than 1,000 documents",
    ),
    "yaml scalars": Bomb(
        lambda n: {"a.yaml": HEAD + fill("a: b\n", n)},
        said="RCL904 cannot be checked in full: it has more than 200,000 nodes",
    ),
    "yaml uniq keys": Bomb(
        lambda n: {"a.yaml": HEAD + "".join(f"k{i}: v\n" for i in range(1_200_000))},
        said="RCL904 cannot be checked in full: it has more than 200,000 nodes",
    ),
    "yaml flow": Bomb(
        lambda n: {"a.yaml": HEAD + "x: [" + fill("a,", n) + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 200,000 nodes",
    ),
    "yaml deep": Bomb(
        lambda n: {"a.yaml": HEAD + "x: " + "[" * 100000}, said="RCL901 invalid YAML: exceeded maximum nesting depth"
    ),
    "yaml deep2": Bomb(
        lambda n: {"a.yaml": HEAD + "x: " + "[" * 900 + "]" * 900}, said="RCL901 nested too deeply to be read"
    ),
    "yaml deep block": Bomb(
        lambda n: {"a.yaml": HEAD + "\n".join(" " * i + "k:" for i in range(1500))},
        said="RCL901 invalid YAML: exceeded maximum nesting depth",
    ),
    "yaml one scalar": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_method: " + fill("x", n) + "\n"},
        said="RCL209 recompute_method is ignored: NeMo-RL does not read it",
    ),
    "yaml one quoted": Bomb(
        lambda n: {"a.yaml": HEAD + '    recompute_method: "' + fill("x ", n) + '"\n'},
        said="RCL209 recompute_method is ignored: NeMo-RL does not read it",
    ),
    "yaml comments": Bomb(lambda n: {"a.yaml": HEAD + fill("# valid recompute_modules: core_attn, moe\n", n)}),
    "yaml one comment": Bomb(lambda n: {"a.yaml": HEAD + "# valid recompute_modules: " + fill("core_attn, ", n)}),
    "yaml comment bullets": Bomb(lambda n: {"a.yaml": HEAD + "# recompute_modules:\n" + fill("# - core_attn\n", n)}),
    "yaml dup keys": Bomb(
        lambda n: {"a.yaml": HEAD + fill("    a: b\n", n)},
        said="RCL904 cannot be checked in full: it has more than 200,000 nodes",
    ),
    "yaml modules 1M": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_modules: [" + "mlp," * 1_000_000 + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 200,000 nodes",
    ),
    "yaml modules 2k": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_modules: [" + "mlpp," * 2_000 + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 1,000 items in recompute_modules",
    ),
    "yaml modules 900": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_modules: [" + "mlpp," * 900 + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 1,000 mistakes",
    ),
    "yaml modules 9k": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_modules: [" + "mlp," * 9_000 + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 1,000 items in recompute_modules",
    ),
    "yaml sites 2000": Bomb(
        lambda n: {"a.yaml": "".join(f"t{i}:\n  megatron_cfg:\n    recompute_granularity: ful\n" for i in range(2000))},
        said="RCL904 cannot be checked in full: it has more than 1,000 places for settings",
    ),
    "yaml sites 900": Bomb(
        lambda n: {"a.yaml": "".join(f"t{i}:\n  megatron_cfg:\n    recompute_granularity: ful\n" for i in range(900))},
        said='RCL101 recompute_granularity is "ful", which is neither "full" nor "selective"',
    ),
    "yaml sites alias keys": Bomb(
        lambda n: {
            "a.yaml": "a: &a\n"
            + "".join(f"  k{i}: v\n" for i in range(4000))
            + "  recompute_granularity: full\n"
            + "".join(f"t{i}:\n  megatron_cfg: *a\n" for i in range(900))
        },
        said="RCL904 cannot be checked in full: it has more than 2,000 keys in one mapping of settings",
    ),
    "yaml sites merge keys": Bomb(
        lambda n: {
            "a.yaml": "a: &a\n"
            + "".join(f"  k{i}: v\n" for i in range(4000))
            + "  recompute_granularity: full\n"
            + "".join(f"t{i}:\n  megatron_cfg:\n    <<: *a\n" for i in range(900))
        },
        said="RCL904 cannot be checked in full: it merges more than 200,000 keys",
    ),
    "yaml laughs": Bomb(
        lambda n: {
            "a.yaml": "a0: &a0 {recompute_granularity: x}\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
        },
        said="RCL904 cannot be checked in full: it unfolds into more than 100,000 mappings and lists",
    ),
    "yaml laughs nemo": Bomb(
        lambda n: {
            "a.yaml": "a0: &a0 {megatron_cfg: {recompute_granularity: x}}\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
        },
        said="RCL904 cannot be checked in full: it has more than 1,000 places for settings",
    ),
    "yaml interp": Bomb(
        lambda n: {
            "a.yaml": HEAD
            + "    recompute_method: ${a0}\n"
            + "".join(f"a{i}: ${{a{i + 1}}}${{a{i + 1}}}\n" for i in range(30))
            + "a30: x\n"
        },
    ),
    "yaml interp sites": Bomb(
        lambda n: {
            "a.yaml": "".join(f"t{i}:\n  megatron_cfg:\n    recompute_method: ${{a0}}{i}\n" for i in range(900))
            + "".join(f"a{i}: ${{a{i + 1}}}${{a{i + 1}}}\n" for i in range(30))
            + "a30: x\n"
        },
    ),
    "yaml interp nest": Bomb(lambda n: {"a.yaml": HEAD + "    recompute_method: " + "${a:" * 800 + "}" * 800 + "\n"}),
    "yaml interp open": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_method: " + "${a:" * 900 + "\n"},
        said="RCL901 invalid YAML: mapping values are not allowed in this context",
    ),
    "yaml interp list": Bomb(
        lambda n: {"a.yaml": HEAD + "    recompute_method: '${f:[" + "[," * 900 + "\n"},
        said="RCL901 invalid YAML: found unexpected end of stream",
    ),
    "yaml mul": Bomb(lambda n: {"a.yaml": HEAD + "    recompute_method: ${mul:aaaaaaaa,1000000000000}\n"}),
    "yaml pow": Bomb(
        lambda n: {
            "a.yaml": HEAD
            + "    recompute_num_layers: ${a0}\n"
            + "".join(f"a{i}: ${{mul:${{a{i + 1}}},${{a{i + 1}}}}}\n" for i in range(29))
            + "a29: 999999\n"
        },
    ),
    "primus env": Bomb(
        lambda n: {
            "exp.yaml": "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n"
            "      recompute_granularity: " + fill("${A:", n) + "\n"
        },
        said="RCL901 invalid YAML: mapping values are not allowed in this context",
    ),
    "inherit exp": Bomb(
        lambda n: {
            **{f"c/f{i}.yaml": f"defaults: [f{i + 1}.yaml, f{i + 1}.yaml]\n" + HEAD for i in range(40)},
            "c/f40.yaml": "defaults: missing.yaml\n" + HEAD,
        },
        said='RCL902 parent "missing.yaml" cannot be read',
    ),
    "inherit cyc": Bomb(
        lambda n: {
            **{f"c/f{i}.yaml": f"defaults: [f{i + 1}.yaml, f{i + 1}.yaml]\n" + HEAD for i in range(40)},
            "c/f40.yaml": "defaults: f0.yaml\n" + HEAD,
        },
        said="RCL903",
    ),
    "inherit chain 400": Bomb(
        lambda n: {**{f"c/f{i}.yaml": f"defaults: f{i + 1}.yaml\n" + HEAD for i in range(400)}, "c/f400.yaml": HEAD},
        said="RCL904 cannot be checked in full: it inherits through more than 50 files",
    ),
    "hydra exp": Bomb(
        lambda n: {
            **{
                f"c/f{i}.yaml": "defaults:\n"
                + f"  - f{i + 1}\n" * 9
                + "actor:\n  megatron:\n    override_transformer_config:\n      recompute_granularity: ful\n"
                for i in range(12)
            },
            "c/f12.yaml": "a: 1\n",
        },
        said="RCL904 cannot be checked in full: it inherits from other files in more than 1,000 ways",
    ),
    "extends exp": Bomb(
        lambda n: {
            **{
                f"primus/configs/models/megatron/f{i}.yaml": f"extends: [f{i + 1}.yaml, f{i + 1}.yaml]\n"
                "recompute_granularity: full\n"
                for i in range(40)
            },
            "primus/configs/models/megatron/f40.yaml": "extends: nosuch.yaml\nrecompute_granularity: full\n",
        },
        said="RCL902",
    ),
    "defaults 1M": Bomb(
        lambda n: {"a.yaml": "defaults: [" + "x.yaml," * 150000 + "]\n" + HEAD},
        said="RCL904 cannot be checked in full: it inherits from other files in more than 1,000 ways",
    ),
    "sh words": Bomb(
        lambda n: {"a.sh": F + fill("a ", n)},
        said="RCL904 cannot be checked in full: it has a command of more than 10,000 words",
    ),
    "sh lines": Bomb(
        lambda n: {"a.sh": F + "\n" + fill("a b c\n", n)},
        said="RCL904 cannot be checked in full: it has more than 200,000 lines",
    ),
    "sh assigns": Bomb(
        lambda n: {"a.sh": fill("A=b\n", n) + F},
        said="RCL904 cannot be checked in full: it has more than 200,000 lines",
    ),
    "sh many cmds": Bomb(
        lambda n: {"a.sh": fill(F + "\n", n)},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh cmds 3000": Bomb(
        lambda n: {"a.sh": (F + "\n") * 3000},
        said="RCL904 cannot be checked in full: it has more than 2,000 commands with recompute settings",
    ),
    "sh flags": Bomb(
        lambda n: {"a.sh": F + fill("--a b ", n)},
        said="RCL904 cannot be checked in full: it has a command of more than 10,000 words",
    ),
    "sh heredocs": Bomb(
        lambda n: {"a.sh": F + "\n" + "cat <<A\n" * 50000},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh heredocs2": Bomb(
        lambda n: {"a.sh": F + "\n" + "".join(f"bash <<A{i}\n" for i in range(20000))},
        said="RCL904 cannot be checked in full: it nests expansions or here-documents deeper than 20",
    ),
    "sh heredocs line": Bomb(
        lambda n: {"a.sh": F + "\n" + "cat " + "<<A " * 100000 + "\n"},
        said="RCL904 cannot be checked in full: it begins more than 100 here-documents on one line",
    ),
    "sh heredoc nest": Bomb(
        lambda n: {
            "a.sh": "".join(f"bash <<A{i}\n" for i in range(900))
            + F
            + "\n"
            + "".join(f"A{i}\n" for i in reversed(range(900)))
        },
        said="RCL904 cannot be checked in full: it nests expansions or here-documents deeper than 20",
    ),
    "sh expand": Bomb(
        lambda n: {"a.sh": "A0='x '\n" + "".join(f'A{i + 1}="$A{i}$A{i}"\n' for i in range(40)) + F + "$A40\n"},
        said="RCL904 cannot be checked in full: it puts more than 20,000 words into variables",
    ),
    "sh expand arr": Bomb(
        lambda n: {
            "a.sh": "A0=(x y)\n"
            + "".join(f'A{i + 1}=("${{A{i}[@]}}" "${{A{i}[@]}}")\n' for i in range(40))
            + F
            + '"${A40[@]}"\n'
        },
        said="RCL904 cannot be checked in full: it puts more than 20,000 words into variables",
    ),
    "sh ifs": Bomb(
        lambda n: {
            "a.sh": "".join(f"if [ $X = {i} ]; then A{i}='--recompute-method uniform'; fi\n" for i in range(3000))
            + F
            + " ".join(f"$A{i}" for i in range(3000))
            + "\n"
        },
        said="RCL904 cannot be checked in full: it has recompute settings in more than 200 branches",
    ),
    "sh cases": Bomb(
        lambda n: {
            "a.sh": "case $X in\n"
            + "".join(f"a{i}) A='--recompute-method uniform{i}' ;;\n" for i in range(5000))
            + "esac\n"
            + F
            + "$A\n"
        },
        said="RCL904 cannot be checked in full: it has recompute settings in more than 200 branches",
    ),
    "sh append": Bomb(
        lambda n: {"a.sh": "A=''\n" + "A+=' --recompute-method x'\n" * 20000 + F + "$A\n"},
        said="RCL904 cannot be checked in full: it puts more than 20,000 words into variables",
    ),
    "sh append arr": Bomb(
        lambda n: {"a.sh": "A=()\n" + "A+=(--x y)\n" * 20000 + F + '"${A[@]}"\n'},
        said="RCL904 cannot be checked in full: it puts more than 20,000 words into variables",
    ),
    "sh defaults nest": Bomb(
        lambda n: {"a.sh": F + "${A:-" * 5000 + "}" * 5000},
        said="RCL904 cannot be checked in full: it nests expansions or here-documents deeper than 20",
    ),
    "sh defaults open": Bomb(
        lambda n: {"a.sh": (F + "${A:-" * 5000 + "\n") * 20},
        said="RCL904 cannot be checked in full: it nests expansions or here-documents deeper than 20",
    ),
    "sh dollars": Bomb(lambda n: {"a.sh": F + "$(" * 50000}),
    "sh dollars closed": Bomb(lambda n: {"a.sh": F + "$(" * 15 + " x" + ")" * 15 + "\n"}),
    "sh subst deep": Bomb(
        lambda n: {"a.sh": F + "$(" * 1000 + " x" + ")" * 1000 + "\n"},
        said="RCL904 cannot be checked in full: it nests expansions or here-documents deeper than 20",
    ),
    "sh subst wide": Bomb(
        lambda n: {"a.sh": F + "$(a)" * 100000 + "\n"},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh quotes": Bomb(
        lambda n: {"a.sh": F + fill("'a'", n)},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh dquotes": Bomb(
        lambda n: {"a.sh": F + '"' + fill("$A", n)},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh backslash": Bomb(
        lambda n: {"a.sh": F + fill("\\\n", n)},
        said="RCL904 cannot be checked in full: it has more than 200,000 lines",
    ),
    "sh escapes": Bomb(
        lambda n: {"a.sh": F + fill("\\x", n)},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh blanks": Bomb(
        lambda n: {"a.sh": F + fill(" ", n)},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh comments": Bomb(
        lambda n: {"a.sh": F + "\n" + fill("# --recompute-method x\n", n)},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh semis": Bomb(
        lambda n: {"a.sh": F + fill(";", n)},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh parens": Bomb(
        lambda n: {"a.sh": F + "\n" + fill("(", n)},
        said="RCL904 cannot be checked in full: it takes more than 500,000 steps to read",
    ),
    "sh dparens": Bomb(
        lambda n: {"a.sh": F + "\n" + "((" * 50000},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh digits": Bomb(
        lambda n: {"a.sh": F + "\n" + fill("1", n)},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh braces": Bomb(
        lambda n: {"a.sh": F + "{" * 200000 + "\n"},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh braces2": Bomb(
        lambda n: {"a.sh": F + "{a," * 100000 + "\n"},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh hydra list": Bomb(
        lambda n: {"a.sh": "python t.py policy.megatron_cfg.recompute_modules=[" + "mlp," * 200000 + "mlp]\n"},
        said="RCL904 cannot be checked in full: it has more than 1,000 items in recompute_modules",
    ),
    "sh hydra key": Bomb(
        lambda n: {"a.sh": "python t.py policy.megatron_cfg.recompute_modules=[a] " + "a.b" * 300000 + "\n"},
        said='RCL106 "a" is not a recompute module of megatron-core',
    ),
    "sh hydra many": Bomb(
        lambda n: {
            "a.sh": "python t.py "
            + "".join(f"a{i}.megatron_cfg.recompute_granularity=ful " for i in range(3900))
            + "\n"
        },
        said="RCL904 cannot be checked in full: it has more than 1,000 recompute configurations",
    ),
    "sh case pattern": Bomb(
        lambda n: {"a.sh": F + "\ncase x in\n" + "a b c " * 100000},
        said="RCL904 cannot be checked in full: it has a command of more than 10,000 words",
    ),
    "sh evals": Bomb(
        lambda n: {"a.sh": "".join(f"eval x{i}\n" for i in range(20000)) + "A=''\n" * 2000 + F + "$A\n"},
        said='RCL103 recompute_granularity is "full", but recompute_method is not set',
    ),
    "sh long names": Bomb(lambda n: {"a.sh": F + "$" + fill("A", n) + "\n"}),
    "sh text var": Bomb(
        lambda n: {"a.sh": "A='" + fill("--recompute-method uniform ", n) + "'\n"},
        said="RCL904 cannot be checked in full: it has a command of more than 10,000 words",
    ),
    "sh eval text": Bomb(
        lambda n: {"a.sh": 'eval "' + fill(F, n) + '"\n'},
        said="RCL904 cannot be checked in full: it has a command of more than 10,000 words",
    ),
    "sh chain carriers": Bomb(
        lambda n: {
            "a.sh": "".join(f"A{i}=$A{i + 1}\n" for i in range(5000)) + "A5000='--recompute-method x'\n" + F + "$A0\n"
        },
    ),
    "mk vars": Bomb(
        lambda n: {"Makefile": "t:\n\t" + F + fill("$(A) ", n) + "\n"},
        said="RCL904 cannot be checked in full: it has a command of more than 10,000 words",
    ),
    "mk 60,000 lines": Bomb(
        lambda n: {"Makefile": "A = b\n" * 60_000 + "t:\n\t" + F + "\n"},
        said="RCL904 cannot be checked in full: it has more than 50,000 lines",
    ),
    "mk lines": Bomb(
        lambda n: {"Makefile": fill("A = b\n", n) + "t:\n\t" + F + "\n"},
        said="RCL904 cannot be checked in full: it has more than 200,000 lines",
    ),
    "mk rules": Bomb(
        lambda n: {"Makefile": fill("\t" + F + "\n", n)},
        said="RCL904 cannot be checked in full: it has more than 2,000 commands with recompute settings",
    ),
    "mk cont": Bomb(
        lambda n: {"Makefile": "A = " + fill("\\\n", n) + F},
        said="RCL904 cannot be checked in full: it has more than 200,000 lines",
    ),
    "py stmts": Bomb(
        lambda n: {"a.py": PYTHON + fill("a=1\n", n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py stmts ours": Bomb(
        lambda n: {"a.py": fill(PYTHON, n)}, said="RCL904 cannot be checked in full: it has more than 300,000 tokens"
    ),
    "py list": Bomb(
        lambda n: {"a.py": PYTHON + "x=[" + fill("1,", n) + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py ours 3000": Bomb(
        lambda n: {"a.py": "".join("cfg.model.recompute_granularity = 'ful'\n" for i in range(3000))},
        said='RCL101 recompute_granularity is "ful", which is neither "full" nor "selective"',
    ),
    "py gets": Bomb(
        lambda n: {"a.py": fill("x = cfg.get('recompute_granularity', 'full')\n", n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py gets 900": Bomb(
        lambda n: {"a.py": "x = cfg.get('recompute_granularity', 'full')\n" * 900},
        said="RCL301 'full' is a hidden default of recompute_granularity",
    ),
    "py modules": Bomb(
        lambda n: {"a.py": "cfg.model.recompute_modules = [" + "'mlp'," * 200000 + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py string": Bomb(lambda n: {"a.py": PYTHON + "x='" + fill("y", n) + "'\n"}),
    "py doc": Bomb(
        lambda n: {"a.py": '"""recompute_modules: ' + fill("core_attn, ", n) + '"""\n'},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py docs": Bomb(
        lambda n: {"a.py": fill('"""recompute_modules: core_attn, moe"""\n', n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py quotes": Bomb(
        lambda n: {"a.py": PYTHON + fill('"', n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py open quotes": Bomb(
        lambda n: {"a.py": PYTHON + fill("'\n", n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py comments": Bomb(
        lambda n: {"a.py": PYTHON + fill("# recompute_modules: core_attn, moe\n", n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py comment line": Bomb(
        lambda n: {"a.py": PYTHON + "# recompute_modules: " + fill("core_attn, ", n)},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py flags regex": Bomb(lambda n: {"a.py": 'x = "' + "a=b=c " * 25 + 'x --recompute-granularity full"\n'}),
    "py flags regex2": Bomb(lambda n: {"a.py": 'x = "' + "a=b " * 20000 + 'x --recompute-granularity full"\n'}),
    "py flags regex3": Bomb(lambda n: {"a.py": 'x = "' + "=" * 50000 + ' --recompute-granularity full"\n'}),
    "py flag list": Bomb(
        lambda n: {"a.py": 'x = ["--recompute-granularity", "full"' + ', "a"' * 300000 + "]\n"},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py flag str": Bomb(
        lambda n: {"a.py": 'x = "--recompute-granularity full ' + fill("a ", n) + '"\n'},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py flag triple": Bomb(
        lambda n: {"a.py": 'x = """python t.py --recompute-granularity full\n' + fill("a\n", n) + '"""\n'},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py funcs": Bomb(
        lambda n: {
            "a.py": "".join(f"def f{i}(c):\n    c.recompute_modules = x\n    f{i - 1}(c)\n" for i in range(3000))
        },
        said="RCL904 cannot be checked in full: it has more than 1,000 recompute configurations",
    ),
    "py const": Bomb(
        lambda n: {
            "a.py": "".join(f"K{i} = 'recompute_granularity'\n" for i in range(3000))
            + "".join(f"x.get(K{i}, 'full')\n" for i in range(3000))
        },
        said="RCL904 cannot be checked in full: it has more than 100 constants that name recompute settings",
    ),
    "py ann": Bomb(lambda n: {"a.py": PYTHON + "x" + " " * 500000 + "= 'recompute_method'\n"}),
    "py ann2": Bomb(lambda n: {"a.py": PYTHON + ("x:" + "y" * 500 + "\n") * 20000}),
    "py template": Bomb(
        lambda n: {"a.py": PYTHON + "{{" + " " * 200000 + "\n("}, said="RCL905 not valid Python: '(' was never closed"
    ),
    "py template2": Bomb(
        lambda n: {"a.py": PYTHON + "(" + "{{ a " * 100000 + "\n"},
        said="RCL904 cannot be checked in full: it has more than 300,000 tokens",
    ),
    "py elif": Bomb(
        lambda n: {"a.py": PYTHON + "if a: pass\n" + "elif b: pass\n" * 16000},
        said="RCL905 not valid Python: it is nested too deeply",
    ),
    "yaml flagscale aliases": Bomb(
        lambda n: {
            "a.yaml": "l0: &l0 {recompute_granularity: full}\n"
            + "".join(f"l{i}: &l{i} {{a: *l{i - 1}, b: *l{i - 1}}}\n" for i in range(1, 30))
            + "system: {precision: {}, x: *l29}\n"
        },
        said="RCL904 cannot be checked in full: it unfolds into more than 500 mappings below system",
        options=("--dialect", "flagscale"),
    ),
    "yaml container names": Bomb(lambda n: {"a.yaml": HEAD + "x: |\n  trans" + fill("co", n) + "\n"}),
    "yaml containers": Bomb(
        lambda n: {"a.yaml": HEAD + "overtr: 1\n" + "".join(f"overtrans{i}: {{a: b}}\n" for i in range(45_000))}
    ),
    "yaml foreign modules": Bomb(
        lambda n: {"a.yaml": "a:\n  recompute_modules: " + fill("mlq,", n) + "\n"},
        said="RCL904 cannot be checked in full: it has more than 1,000 items in recompute_modules",
    ),
    "json deep site": Bomb(
        lambda n: {"a.json": '{"a": ' * 100_000 + '{"recompute_granularity": "ful"}' + "}" * 100_000},
    ),
    "py elif 302": Bomb(
        lambda n: {
            "a.py": "def f(c, m):\n    if c.g == 'a': pass\n"
            + "".join(f"    elif c.g == {i}: m.recompute_granularity = c.h\n" for i in range(800))
        },
        said="RCL302 recompute_granularity is set to c.h, and nothing validates it afterwards",
    ),
    "py if 302": Bomb(
        lambda n: {
            "a.py": "def f(c, m):\n"
            + "".join(f"    if len(m.recompute_method) == {i}: m.recompute_method = c.h{i}\n" for i in range(900))
        },
        said="RCL302 recompute_method is set to c.h",
    ),
    "py callers 302": Bomb(
        lambda n: {
            "a.py": "def f(c, v):\n"
            + "    c.recompute_method = v\n" * 900
            + "\ndef g(a, b):\n"
            + "    f(a, b)\n" * 9000
        },
        said="RCL302 recompute_method is set to v, and nothing validates it afterwards",
    ),
    "py kept 302": Bomb(
        lambda n: {
            "a.py": "class A:\n  def f(self, c):\n"
            + "".join(f"    c.recompute_method = self.k{i}\n" for i in range(900))
        },
        said="RCL302 recompute_method is set to self.k0, and nothing validates it afterwards",
    ),
    "py or": Bomb(lambda n: {"a.py": PYTHON + "x=" + '"a" or ' * 7500 + '"a"\n'}),
    "py plus": Bomb(
        lambda n: {"a.py": PYTHON + "x=" + "1+" * 20000 + "1\n"},
        said="RCL905 not valid Python: it is nested too deeply",
    ),
    "py not": Bomb(
        lambda n: {"a.py": PYTHON + "x=" + "not\\\n" * 50000 + "1\n"},
        said="RCL905 not valid Python: it is nested too deeply",
    ),
    "py attr": Bomb(
        lambda n: {"a.py": PYTHON + "x=a" + ".a" * 20000 + "\n"},
        said="RCL905 not valid Python: it is nested too deeply",
    ),
    "py newer or": Bomb(lambda n: {"a.py": PYTHON + NEWER + "x=" + '"a" or ' * 7500 + '"a"\n'}, said=NOT_READ),
    "py newer elif": Bomb(lambda n: {"a.py": PYTHON + NEWER + "if a: pass\n" + "elif b: pass\n" * 600}, said=NOT_READ),
    "py newer pattern": Bomb(
        lambda n: {"a.py": PYTHON + NEWER + "match a:\n case " + "[" * 90 + "]" * 90 + ": pass\n"}, said=NOT_READ
    ),
    "noqa": Bomb(lambda n: {"a.yaml": HEAD + "    recompute_modules: [mlpp]  # noqa: " + fill("RCL106,", n)}),
    "noqas": Bomb(
        lambda n: {"a.yaml": HEAD + fill("# noqa: RCL106\n", n)},
        said="RCL904 cannot be checked in full: it has more than 1,000 unused suppressions",
        options=("--extend-select", "RCL906"),
    ),
    "toml deep": Bomb(
        lambda n: {"a.yaml": HEAD, "recompute-lint.toml": "x = " + "[" * 20000},
        said="invalid TOML: it is nested too deeply",
    ),
    "toml int": Bomb(
        lambda n: {"a.yaml": HEAD, "recompute-lint.toml": "x = " + "9" * 5000}, said="Exceeds the limit (4300 digits)"
    ),
    "toml big": Bomb(lambda n: {"a.yaml": HEAD, "recompute-lint.toml": "select = [" + "'RCL'," * 150000 + "]"}),
    "toml globs": Bomb(
        lambda n: {
            "a.yaml": HEAD,
            "recompute-lint.toml": "exclude = [" + "'" + "*a" * 3000 + "b'," * 10 + "]",
            "a" * 200 + ".yaml": HEAD,
        },
        said="invalid TOML: Invalid value (at line 1, column 6016)",
    ),
    "json deep": Bomb(lambda n: {"a.yaml": HEAD, "config.json": "[" * 100000}),
    "json big": Bomb(lambda n: {"a.yaml": HEAD, "config.json": "[" + "1," * 8000000 + "1]"}),
    "reqs": Bomb(
        lambda n: {
            "a.yaml": HEAD,
            "requirements.txt": "megatron-core" + " " * 200000 + "\n" + "megatron-core==" + "1" * 100000,
        },
    ),
    "reqs2": Bomb(lambda n: {"a.yaml": HEAD, "requirements.txt": "megatron-core " + "> 1 " * 100000}),
    "reqs3": Bomb(lambda n: {"a.yaml": HEAD, "requirements.txt": "megatron-core[" * 100000}),
    "reqs4": Bomb(lambda n: {"a.yaml": HEAD, "requirements.txt": "megatron-core\n" * 1000000}),
    "uvlock": Bomb(lambda n: {"a.yaml": HEAD, "uv.lock": '[[package]]\nname = "megatron-core"\n' * 300000}),
    "uvlock2": Bomb(lambda n: {"a.yaml": HEAD, "uv.lock": '[[package]]\nname = "megatron-core"\n' + " " * 3000000}),
    "gitmodules": Bomb(lambda n: {"a.yaml": HEAD, ".gitmodules": "path = " + " a" * 300000 + "\n"}),
    "gitmodules2": Bomb(lambda n: {"a.yaml": HEAD, ".gitmodules": "path =" + " " * 300000 + "\n\n" * 300000}),
    "gitignore": Bomb(
        lambda n: {
            "a.yaml": HEAD,
            ".git/x": "",
            ".gitignore": "*a" * 300 + "\n" + "**/" * 3000 + "b\n" + "x\n" * 100000,
        },
    ),
    "gitignore2": Bomb(
        lambda n: {"sub/" + "a" * 200 + ".yaml": HEAD, ".git/x": "", ".gitignore": ("*a" * 100 + "b.yaml\n") * 10},
    ),
    "baseline": Bomb(
        lambda n: {
            "a.yaml": HEAD,
            "b.json": '{"version":1,"findings":{"a":['
            + '{"code":"RCL101","line":""},' * 400000
            + '{"code":"","line":""}]}}',
        },
        options=("--baseline", "b.json"),
    ),
    "sh utf8 bad": Bomb(lambda n: {"a.sh": F.encode() + b"\xff" * 1000}),
}
