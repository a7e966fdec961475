"""No word of a file does anything but stand there: not to a terminal, a log, a workflow, a diff or an XML parser."""

from __future__ import annotations

import os
from xml.etree import ElementTree

import pytest

from recompute_lint.sources.visible import visible

EVIL = "x\x1b[31m\r\n::error file=README.md::owned\n\x00\u2028\u202e\x9b"
#: The same, as the values of YAML and TOML have it.
ESCAPED = "x\\x1b[31m\\r\\n::error file=README.md::owned\\n\\0\\u2028\\u202e\\x9b"
HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
VALUE = HEAD + f'    recompute_granularity: "{ESCAPED}"\n'
LOCK = '[[package]]\nname = "megatron-core"\nversion = "0.16.1"\nsource = {{ editable = "{}" }}\n'
NAME = "x\x1b[31m\n::error file=README.md::owned\n.yaml"


def is_harmless(text: str) -> bool:
    lines = text.split("\n")
    return all(character not in text for character in "\x1b\r\0\x9b\u2028\u202e") and not any(
        line.startswith("::error file=README.md") for line in lines
    )


def test_every_character_is_seen():
    assert is_harmless(visible(EVIL)) and "\n" not in visible(EVIL)
    assert visible("grüße ✓ 漢字\t") == "grüße ✓ 漢字\t"


@pytest.mark.parametrize("format", ["full", "concise", "github", "gitlab", "json", "junit", "sarif"])
@pytest.mark.parametrize("what", ["a value", "a name", "a module", "a key", "a parent", "a lock", "a submodule"])
def test_formats(command, format, what):
    name = "a.yaml"
    files: dict[str, str | bytes] = {}
    text = VALUE
    if what == "a name":
        name = NAME
    elif what == "a module":
        text = HEAD + f'    recompute_granularity: selective\n    recompute_modules: ["{ESCAPED}"]\n'
    elif what == "a key":
        text = VALUE + f'    "recompute_{ESCAPED}": 1\n'
    elif what == "a parent":
        text = f'defaults: "{ESCAPED}.yaml"\n' + HEAD
    elif what == "a lock":
        files["uv.lock"] = LOCK.format("x\n::error file=README.md::owned\n\x1b[31m")
    elif what == "a submodule":
        files[".git/x"] = ""
        files[".gitmodules"] = "path = \x1b[31m\u2028/Megatron-LM\n"
    try:
        result = command("check", "--output-format", format, ".", files={name: text, **files})
    except OSError:
        pytest.skip("this file system takes no such names")
    assert result.code == 1
    assert is_harmless(result.out) and is_harmless(result.err)
    if format == "junit":
        ElementTree.fromstring(result.out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--mcore", "\x1b[31mx\n::error file=README.md::owned", "a.yaml"),
        ("check", "--te", "\x1b[31m", "a.yaml"),
        ("check", "--dialect", "\x1b[31m", "a.yaml"),
        ("check", "--facts", "\x1b[31m", "a.yaml"),
        ("check", "--config", "\x1b[31m", "a.yaml"),
        ("check", "--baseline", "\x1b[31m", "a.yaml"),
        ("check", "--model", "\x1b[31m\n", "a.yaml"),
        ("check", "--\x1b[31m", "a.yaml"),
        ("check", "--output-format", "\x1b[31m", "a.yaml"),
        ("check", "-v", "."),
        ("check", "--write-baseline", "\x1b[31m", "a.yaml"),
        ("show", "."),
        ("compat", "."),
        ("contract", "show", "\x1b[31m"),
        ("contract", "derive", "\x1b[31m"),
    ],
)
def test_commands(command, arguments):
    try:
        result = command(*arguments, files={"a.yaml": VALUE, NAME: VALUE})
    except OSError:
        pytest.skip("this file system takes no such names")
    assert is_harmless(result.out) and is_harmless(result.err)


def test_configuration_files(command):
    result = command("check", ".", files={"a.yaml": VALUE, "recompute-lint.toml": f'"{ESCAPED[:8]}\\u001b" = 1\n'})
    assert result.code == 2 and is_harmless(result.err)


def test_a_diff_names_the_file_on_one_line(command):
    text = HEAD + "    recompute_granularity: selective\n    recompute_modules: [mlp, mlp]\n"
    try:
        result = command("check", "--diff", ".", files={NAME: text})
    except OSError:
        pytest.skip("this file system takes no such names")
    assert result.code == 1 and result.out.splitlines()[0].startswith("--- x␛[31m␊::error")
    assert is_harmless(result.out)


def test_what_a_fix_says_of_a_file(command):
    text = HEAD + "    recompute_granularity: selective\n    recompute_modules: [mlp, mlp]\n"
    try:
        command("check", "a.yaml", files={NAME: text})
    except OSError:
        pytest.skip("this file system takes no such names")
    os.chmod(NAME, 0o444)
    result = command("check", "--fix", ".")
    assert "is left as it is" in result.err and is_harmless(result.err)
