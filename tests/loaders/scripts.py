"""Launch scripts made by chance, each from a few constructs of Bash, and what real Bash makes of them.

What a script does may depend on the environment variables ``MODE`` and ``DEBUG``, and every value of them that it asks
for is tried: all that it can ever do is known.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

Settings = dict[str, Any]

#: The values of the variables that scripts ask for; None is not set.
ENVIRONMENTS: dict[str, tuple[str | None, ...]] = {"MODE": (None, "a", "b"), "DEBUG": (None, "1")}

_RECORDER = """#!/bin/sh
for word in "$@"; do printf '%s\\0' "$word" >> "$RECORD"; done
printf '\\n\\0' >> "$RECORD"
"""
_MODULES = ("core_attn", "moe_act", "layernorm", "mlp", "moe", "shared_experts")
_START = "python pretrain_gpt.py --num-layers 4"


class Script(NamedTuple):
    """A script."""

    name: str
    text: str
    #: The constructs that it is made of.
    constructs: frozenset[str]


def flags_of(words: list[str]) -> Settings | None:
    """The recompute settings of a command line as argparse has them; None where it has none."""
    found: Settings = {}
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not name.startswith(("--recompute-", "--distribute-saved-")):
            continue
        values = [value] if equals else list(itertools.takewhile(lambda w: not w.startswith("--"), words[index + 1 :]))
        field = name[2:].replace("-", "_")
        if field == "recompute_modules":
            found[field] = values
        elif field == "distribute_saved_activations":
            found[field] = True
        elif values:
            found[field] = int(values[0]) if values[0].isdigit() else values[0]
    return found or None


def run(scripts: list[Script], folder: Path) -> dict[str, list[list[Settings]]]:
    """For each script, what each of its runs starts: one list of settings for every environment."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("python", "python3", "torchrun"):
        (programs / name).write_text(_RECORDER)
        (programs / name).chmod(0o755)
    lines = []
    runs: list[tuple[str, str]] = []
    for script in scripts:
        (folder / script.name).write_text(script.text)
        asked = [name for name in ENVIRONMENTS if name in script.text]
        for values in itertools.product(*(ENVIRONMENTS[name] for name in asked)):
            record = f"record-{len(runs)}"
            runs.append((script.name, record))
            given = "".join(f"export {name}={value}; " for name, value in zip(asked, values, strict=True) if value)
            lines.append(f"( export RECORD={folder}/{record}; {given}. ./{script.name} )\n")
    (folder / "all.sh").write_text("".join(lines))
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder)}
    subprocess.run(
        ["bash", "all.sh"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    found: dict[str, list[list[Settings]]] = {}
    for name, record in runs:
        path = folder / record
        words = path.read_text().split("\0")[:-1] if path.exists() else []
        commands = [flags_of(part) for part in _parts(words)]
        found.setdefault(name, []).append([settings for settings in commands if settings])
    return found


def _parts(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "\n":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts[:-1]


# ---- what scripts are made of


class _Maker:
    """Makes one script, and notes its constructs."""

    def __init__(self, chance: random.Random, allowed: tuple[str, ...]) -> None:
        self.chance, self.allowed = chance, allowed
        self.constructs: set[str] = set()
        self.text: list[str] = []

    def pick(self, *names: str) -> str:
        """One of the constructs that are allowed, or plain."""
        name = self.chance.choice([name for name in names if name in self.allowed] or ["plain"])
        if name != "plain":
            self.constructs.add(name)
        return name

    def quoted(self, word: str) -> str:
        """A word, quoted in one of Bash's ways."""
        if self.chance.random() < 0.6:
            return word
        self.constructs.add("quoting")
        half = len(word) // 2
        return self.chance.choice(
            (f"'{word}'", f'"{word}"', f"$'{word}'", f'{word[:half]}"{word[half:]}"', f"\\{word}", f"''{word}")
        )

    def line(self, text: str) -> None:
        """Add a line."""
        self.text.append(text)


def _assign(maker: _Maker, name: str, values: list[str]) -> None:
    """Give a variable a value in one of many ways; ``values`` are two that it may have."""
    first, second = values
    form = maker.pick(*_ASSIGNMENTS)
    quoted = maker.quoted(first)
    two = {"n": name, "a": quoted, "b": second}
    if form == "plain":
        maker.line(f"{maker.chance.choice(('', '', 'export ', 'declare '))}{name}={quoted}")
    else:
        maker.line(_FORMS[form].format(**two))


#: Ways to assign, each with a variable ``{n}`` and two values.
_FORMS = {
    "default": "{n}=${{{n}:-{a}}}",
    "colon default": ': "${{{n}:={a}}}"',
    "if else": 'if [ "$MODE" = a ]; then\n  {n}={a}\nelse\n  {n}={b}\nfi',
    "elif": 'if [ "$MODE" = a ]; then {n}={a}; elif [[ "$MODE" == b ]]; then {n}={b}; else {n}={a}; fi',
    "case": 'case "$MODE" in\n  a) {n}={a} ;;\n  b|c) {n}={b} ;;\n  *) {n}={a} ;;\nesac',
    "if without else": '{n}={a}\nif [ -n "$DEBUG" ]; then\n  {n}={b}\nfi',
    "and list": '{n}={a}\n[ -n "$DEBUG" ] && {n}={b}',
    "or list": '{n}={a}\n[ -z "$DEBUG" ] || {n}={b}',
    "and or list": '[ -n "$DEBUG" ] && {n}={a} || {n}={b}',
    "function called": "choose_{n}() {{\n  {n}={a}\n}}\n{n}={b}\nchoose_{n}",
    "function not called": "{n}={a}\nother_{n}() {{ {n}={b}; }}",
    "function called in if": '{n}={a}\nset_{n}() {{ {n}={b}; }}\nif [ -n "$DEBUG" ]; then set_{n}; fi',
    "function with words": 'give_{n}() {{ {n}="$1"; }}\ngive_{n} {a}',
    "local": "{n}={a}\ninner_{n}() {{ local {n}={b}; }}\ninner_{n}",
    "subshell": "{n}={a}\n( {n}={b}; true )",
    "braces": "{{ {n}={a}; }}",
    "for once": "for word in {a}; do {n}=$word; done",
    "while": "count=0\nwhile [ $count -lt 1 ]; do {n}={a}; count=$((count + 1)); done",
    "false": "{n}={a}\nif false; then {n}={b}; fi",
    "indirect": "{n}_a={a}\n{n}=${{{n}_a}}",
    "substring": '{n}={a}x\n{n}="${{{n}%x}}"',
    "command substitution": "{n}=$(echo {a})",
    "read": "read -r {n} <<< {a}",
    "here-document not run": "cat > /dev/null <<EOF\n{n}={b}\nEOF\n{n}={a}",
    "comment": "# {n}={b}\n{n}={a}  # {n}={b}",
    "continued": "{n}=\\\n{a}",
    "two in one line": "X=1 Y=2\nA=1; {n}={a}; B=2",
    "unset": "{n}={a}\nunset UNUSED_{n}",
    "prefix only": "{n}={a}\n{n}={b} true",
    "pipeline": "{n}={a}\ntrue | {n}={b}",
    "nested if": 'if [ "$MODE" = a ]; then\n  if [ -n "$DEBUG" ]; then {n}={a}; else {n}={b}; fi\nelse\n  {n}={a}\nfi',
}
_ASSIGNMENTS = tuple(_FORMS)


def _words(maker: _Maker, settings: dict[str, Any]) -> list[str]:
    """The settings as words, some of them through variables."""
    words: list[str] = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, list):
            words += [flag, *map(maker.quoted, value)]
            continue
        chance = maker.chance
        if chance.random() < 0.5:
            variable = {"recompute_granularity": "GRAN", "recompute_method": "METHOD"}.get(name, "LAYERS")
            others = {"GRAN": ("full", "selective"), "METHOD": ("uniform", "block")}.get(variable, ("1", "2"))
            other = others[1] if others[0] == value else others[0]
            _assign(maker, variable, [value, other])
            used = chance.choice((f"${variable}", f'"${{{variable}}}"', f"${{{variable}}}"))
            words += [flag, used] if chance.random() < 0.8 else [f"{flag}={used}"]
        else:
            words += [flag, maker.quoted(value)] if chance.random() < 0.8 else [f"{flag}={value}"]
    return words


def _unquoted(line: str) -> str:
    for quote in ("$'", "'", '"', "\\"):
        line = line.replace(quote, "")
    return line


def _commands(maker: _Maker, words: list[str]) -> None:
    """Hand words to a program, directly or by way of variables, functions or other shells."""
    form = maker.pick(*_WAYS, "plain", "plain")
    line = " ".join(words)
    if form == "plain":
        maker.line(f"{_START} {line}")
    elif form == "array":
        maker.line(f'ARGS=(\n  {line}\n)\n{_START} "${{ARGS[@]}}"')
    elif form == "array appended":
        half = next((at for at in range(2, len(words)) if words[at].startswith("--")), len(words))
        maker.line(f"ARGS=({' '.join(words[:half])})\nARGS+=({' '.join(words[half:])})\n{_START} ${{ARGS[@]}}")
    elif form == "string":
        plain = line.replace('"', "")
        maker.line(f'ARGS="{plain}"\n{_START} $ARGS')
        maker.constructs.discard("quoting")
    elif form == "string appended":
        plain = line.replace('"', "")
        maker.line(f'ARGS="--bf16"\nARGS="$ARGS {plain}"\n{_START} ${{ARGS}}')
    elif form == "unset array":
        maker.line(f'{_START} {line} "${{NOTHING[@]}}"')
    elif form == "continued command":
        joined = " \\\n  ".join(words)
        maker.line(f"{_START} \\\n  {joined}")
    elif form == "function runs it":
        maker.line(f"launch() {{\n  {_START} {line}\n}}\nlaunch")
    elif form == "function with its words":
        maker.line(f'launch() {{ {_START} "$@"; }}\nlaunch {line}')
    elif form == "launcher":
        maker.line(f"torchrun --nproc_per_node 8 pretrain_gpt.py {line}")
    elif form == "subshell runs it":
        maker.line(f"(cd . && {_START} {line})")
    elif form == "condition runs it":
        maker.line(f'if [ "$MODE" = a ]; then {_START} {line}; fi')
    elif form == "two commands":
        maker.line(f"{_START} {line}\n{_START} --recompute-granularity selective")
    elif form == "background":
        maker.line(f"{_START} {line} > /dev/null 2>&1 &\nwait")
    elif form == "piped":
        maker.line(f"{_START} {line} 2>&1 | cat")
    elif form == "eval":
        plain = _unquoted(line)
        maker.line(f'CMD="{_START} {plain}"\neval $CMD')
    elif form == "bash -c":
        plain = _unquoted(line)
        maker.line(f'bash -c "{_START} {plain}"')
    elif form == "here-document run":
        maker.line(f"bash <<EOF\n{_START} {line}\nEOF")
    elif form == "loop over granularities":
        maker.line(f"for EACH in full selective; do {_START} {line} --recompute-granularity $EACH; done")
    elif form == "and runs it":
        maker.line(f"true && {_START} {line}")
    elif form == "flags of two ifs":
        maker.line(
            f'ARGS="{line.replace(chr(34), "")}"\n'
            'if [ "$MODE" = a ]; then ARGS="$ARGS --recompute-method uniform"; fi\n'
            'if [ -n "$DEBUG" ]; then ARGS="$ARGS --recompute-num-layers 1"; fi\n'
            f"{_START} $ARGS"
        )
    elif form == "array of one if":
        maker.line(
            f'ARGS=({line})\nif [ "$MODE" = a ]; then\n  ARGS+=(--recompute-granularity selective)\n'
            f'else\n  ARGS+=(--recompute-granularity full)\nfi\n{_START} "${{ARGS[@]}}"'
        )
    elif form == "unknown word in a list":
        maker.line(f"{_START} --recompute-granularity selective --recompute-modules mlp $MODE moe")
    elif form == "unknown word after a list":
        maker.line(f"{_START} --recompute-granularity selective --recompute-modules mlp moe $MODE")
    elif form == "unknown word between flags":
        maker.line(f"{_START} --num-layers $MODE {line}")
    elif form == "exits before":
        maker.line(f'if [ -n "$DEBUG" ]; then exit 0; fi\n{_START} {line}')


_WAYS = (
    *("array", "array appended", "string", "string appended", "unset array", "continued command", "function runs it"),
    *("function with its words", "launcher", "subshell runs it", "condition runs it", "two commands", "background"),
    *("piped", "eval", "bash -c", "here-document run", "loop over granularities", "and runs it", "flags of two ifs"),
    *("array of one if", "exits before", "unknown word in a list", "unknown word after a list"),
    "unknown word between flags",
)

#: Every construct.
CONSTRUCTS = (*_ASSIGNMENTS, *_WAYS)


def make(chance: random.Random, name: str, allowed: tuple[str, ...]) -> Script:
    """A script of constructs that are allowed."""
    maker = _Maker(chance, allowed)
    settings: dict[str, Any] = {"recompute_granularity": chance.choice(("full", "selective"))}
    if settings["recompute_granularity"] == "full" or chance.random() < 0.2:
        settings["recompute_method"] = chance.choice(("uniform", "block"))
        settings["recompute_num_layers"] = chance.choice(("1", "2"))
    else:
        settings["recompute_modules"] = chance.sample(_MODULES, chance.choice((1, 2)))
    _commands(maker, _words(maker, settings))
    return Script(name, "#!/bin/bash\n" + "\n".join(maker.text) + "\n", frozenset(maker.constructs))


def batch(seed: int, count: int, allowed: tuple[str, ...], needs: str = "") -> list[Script]:
    """Scripts of constructs that are allowed, each with the one that it ``needs``."""
    chance = random.Random(seed)
    found: list[Script] = []
    while len(found) < count:
        script = make(chance, f"s{seed}-{len(found):04}.sh", allowed)
        if not needs or needs in script.constructs:
            found.append(script)
    return found
