"""Make inputs out of others: seeded, so that any of them can be made again."""

from __future__ import annotations

from random import Random

#: What readers have tripped over, or may.
ODD = (
    "\0",
    "\x1b[31m",
    "\r",
    "\r\n",
    "\x85",
    "\u2028",
    "\ufeff",
    "²",
    "٣",
    "é",
    "漢",
    "🎉",
    "\udc80",
    "\t",
    " ",
    "\n",
    "\\",
    "\\\n",
    "'",
    '"',
    "`",
    "$",
    "${",
    "}",
    "$(",
    ")",
    "((",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ": ",
    "- ",
    "&a ",
    "*a",
    "<<: *a",
    "!!",
    "!x ",
    "|\n",
    ">\n",
    "#",
    "# noqa",
    "# noqa: RCL1",
    "---\n",
    "...\n",
    "?",
    "%",
    "@",
    "~",
    "null",
    "None",
    "true",
    "yes",
    "off",
    ".inf",
    "-.nan",
    "1e999",
    "0x" + "f" * 300,
    "9" * 500,
    "-1",
    "0",
    "1.5",
    "1_000",
    "12:30:45",
    "2001-01-01",
    "${a}",
    "${mul:2,3}",
    "${mul:a,999999999999}",
    "${.a}",
    "${l.²}",
    "${l.999999999999999999999}",
    "${oc.env:X}",
    "${X:1}",
    "???",
    "_override_: true",
    "defaults: a.yaml\n",
    "defaults: [a.yaml, a.yaml]\n",
    "megatron_cfg:\n",
    "recompute_granularity",
    "recompute_modules",
    "recompute_method",
    "recompute_num_layers",
    "--recompute-granularity",
    "--recompute-modules ",
    "full",
    "selective",
    "uniform",
    "block",
    "core_attn",
    "moe_act",
    "mlpp",
    "<<EOF\n",
    "\nEOF\n",
    "if ",
    "; then ",
    "fi\n",
    "case x in ",
    "esac",
    "function f() {",
    "A=(",
    "A+=(",
    "${A[@]}",
    "${A:-",
    "+a.b=",
    "++a.b=[",
    "~a.b",
    "lambda: ",
    "not ",
    "def f(",
    "class A(",
    "async ",
    "match x:\n",
    "f'{",
    "type X = int\n",
    "x: int = ",
    "import ",
    "@",
    "elif ",
    "else:\n",
    "try:\n",
    "except* E:\n",
    "[tool.recompute-lint]\n",
    "select = [",
    "'''",
    '"""',
    "a" * 300,
    "[" * 60,
    "(" * 60,
    "not " * 60,
    "-" * 80,
    "=" * 40,
    "  " * 40,
)


def mutated(generator: Random, text: str, others: list[str]) -> str:
    """``text`` with one to six changes; parts of ``others`` may come into it."""
    for _ in range(generator.choice((1, 1, 2, 3, 6))):
        at = generator.randrange(len(text) + 1)
        end = min(len(text), at + generator.choice((1, 2, 5, 20, 100)))
        kind = generator.randrange(8)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + generator.choice(ODD) + text[at:]
        elif kind == 2:
            text = text[:at] + generator.choice(ODD) + text[end:]
        elif kind == 3:
            text = text[:at] + text[at:end] * generator.choice((2, 3, 30)) + text[end:]
        elif kind == 4:
            other = generator.choice(others)
            start = generator.randrange(len(other) + 1)
            text = text[:at] + other[start : start + generator.choice((5, 40, 400))] + text[at:]
        elif kind == 5:
            text = text[:at] + chr(generator.choice((*range(128), 0x85, 0xA0, 0x2028, 0x1F389))) + text[end:]
        elif kind == 6:
            lines = text.split("\n")
            one, two = generator.randrange(len(lines)), generator.randrange(len(lines))
            lines[one], lines[two] = lines[two], lines[one]
            text = "\n".join(lines)
        else:
            text = text[:at] if generator.random() < 0.3 else text[at:] + text[:at]
    return text[:20_000]


def as_bytes(generator: Random, text: str) -> bytes:
    """The text as a file may have it; now and then not UTF-8."""
    encoding = generator.choice(("utf-8",) * 12 + ("utf-8-sig", "utf-16", "utf-16-be", "latin-1"))
    data = text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")
    if generator.random() < 0.02 and data:
        at = generator.randrange(len(data))
        data = data[:at] + bytes([generator.randrange(256)]) + data[at + 1 :]
    return data
