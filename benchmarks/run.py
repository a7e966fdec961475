"""Measure recompute-lint against other tools: cold, whole process, in turns, medians.

``python benchmarks/run.py [NAME ...] [--runs N]`` prints the tables of README.md in this folder. Every command runs
once before anything is counted, so that all find their files in the page cache and their bytecode compiled; then all
run in turn, N times, so that a slow moment of the machine falls on all of them. What is compared is processor time, a
command's own and its children's: elapsed time says more of what else the machine does. A ratio is the median of the
ratios of each turn.

Run it with the Python of an environment that has the package installed (not editable, which makes every start of Python
slower) and nothing but what it needs; the peers are found there or in $TOOLS, a folder. Needs the corpus beside the
checkout. ``checkout`` lints whole checkouts of other projects, which are to be named: see :func:`checkout`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
RECIPES = CORPUS / "nemo-rl" / "examples" / "configs" / "recipes"
BIN = Path(sys.executable).parent
TOOLS = Path(os.environ.get("TOOLS", BIN))

#: What check-jsonschema checks: the same words in the same places, without inheritance.
EQUAL_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "properties": {
        "policy": {
            "properties": {
                "megatron_cfg": {
                    "properties": {
                        "activation_checkpointing": {"type": "boolean"},
                        "recompute_granularity": {"enum": ["full", "selective"]},
                        "recompute_modules": {
                            "type": ["array", "null"],
                            "items": {
                                "enum": [
                                    "core_attn",
                                    "moe_act",
                                    "layernorm",
                                    "mla_up_proj",
                                    "mlp",
                                    "moe",
                                    "shared_experts",
                                ]
                            },
                        },
                    }
                }
            }
        }
    },
}


class Figure(NamedTuple):
    """What one command took, run after run."""

    #: Processor time, and elapsed time.
    seconds: list[float]
    elapsed: list[float]
    #: The most that one of its processes held.
    megabytes: float


def measure(commands: dict[str, list[str]], runs: int) -> dict[str, Figure]:
    """Run all commands in turn, ``runs`` times after a first time that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    elapsed: dict[str, list[float]] = {name: [] for name in commands}
    peak: dict[str, float] = dict.fromkeys(commands, 0.0)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    for turn in range(runs + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            _, _, usage = os.wait4(process.pid, 0)
            if turn:
                seconds[name].append(usage.ru_utime + usage.ru_stime)
                elapsed[name].append(time.perf_counter() - start)
            peak[name] = max(peak[name], usage.ru_maxrss / 1024)
    return {name: Figure(seconds[name], elapsed[name], peak[name]) for name in commands}


def ratio(figure: Figure, base: Figure) -> float:
    """The median of the ratios of the processor times of each turn."""
    return statistics.median(mine / its for mine, its in zip(figure.seconds, base.seconds, strict=True))


def table(figures: dict[str, Figure], against: str) -> None:
    """Print a Markdown table with each command's ratio to one of them."""
    print(f"| command | processor time | min | max | elapsed | peak memory | to {against} |")
    print("|---|---|---|---|---|---|---|")
    for name, figure in figures.items():
        print(
            f"| {name} | {statistics.median(figure.seconds) * 1000:.0f} ms | {min(figure.seconds) * 1000:.0f} ms "
            f"| {max(figure.seconds) * 1000:.0f} ms | {statistics.median(figure.elapsed) * 1000:.0f} ms "
            f"| {figure.megabytes:.0f} MB | {ratio(figure, figures[against]):.2f} |"
        )
    print()


def tool(name: str) -> str:
    """Where a peer is installed."""
    return str(next((place for place in (BIN / name, TOOLS / name) if place.exists()), TOOLS / name))


def recipes(runs: int) -> None:
    """(a) The NeMo-RL recipes, against check-jsonschema with an equal schema, and yamllint."""
    files = sorted(map(str, RECIPES.rglob("*.yaml")))
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder, "schema.json")
        schema.write_text(json.dumps(EQUAL_SCHEMA))
        rules = Path(folder, "yamllint.yaml")
        rules.write_text("rules: {key-duplicates: enable}\n")
        print(f"### (a) {len(files)} NeMo-RL recipes\n")
        commands = {
            "recompute-lint": [f"{BIN}/recompute-lint", "--isolated", str(RECIPES)],
            "check-jsonschema": [tool("check-jsonschema"), "--schemafile", str(schema), *files],
            "yamllint": [tool("yamllint"), "-c", str(rules), str(RECIPES)],
        }
        table(measure(commands, runs), "check-jsonschema")


#: A recipe with one wrong module.
_WRONG = """\
policy:
  megatron_cfg:
    activation_checkpointing: true
    recompute_granularity: selective
    recompute_modules: [mlpp]
"""


def one(runs: int) -> None:
    """(b) One recipe and 30, as pre-commit runs them, against Python's own start."""
    llm = RECIPES / "llm"
    recipe = str(llm / "grpo-qwen3-30ba3b-8n8g-megatron.yaml")
    lint = [f"{BIN}/recompute-lint", "check", "--force-exclude", "--"]
    print("### (b) one recipe with two parents, as pre-commit runs it\n")
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder, "wrong.yaml")
        wrong.write_text(_WRONG)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import yaml'": [sys.executable, "-c", "import yaml"],
            "python -c 'import argparse, json, yaml'": [sys.executable, "-c", "import argparse, json, yaml"],
            "python -c 'import jsonschema'": [sys.executable, "-c", "import jsonschema"],
            "recompute-lint": [*lint, recipe],
            "recompute-lint, a recipe with a finding": [*lint, str(wrong)],
            "recompute-lint, 30 recipes": [*lint, *map(str, sorted(llm.glob("*.yaml"))[:30])],
            "recompute-lint, a file without recompute settings": [*lint, str(CORPUS / "README.md")],
            "yamllint": [tool("yamllint"), recipe],
            "check-jsonschema --version": [tool("check-jsonschema"), "--version"],
        }
        table(measure({name: command for name, command in commands.items() if Path(command[0]).exists()}, 2 * runs),
              "python -c pass")  # fmt: skip


def _copies(folder: Path, count: int) -> Path:
    """A folder with ``count`` recipes: links to the corpus's, over and over."""
    source = sorted(path for path in (CORPUS / "nemo-rl").rglob("*.y*ml"))
    target = folder / str(count)
    for copy in range(-(-count // len(source))):
        for path in source[: min(len(source), count - copy * len(source))]:
            original = folder / "corpus" / path.relative_to(CORPUS)
            if not original.exists():
                original.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, original)
            place = target / str(copy) / path.relative_to(CORPUS)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(original, place)
    return target


def _held(process: int) -> list[float]:
    """The megabytes that a process and those below it hold, what they share by halves, thirds and so on (PSS)."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended
        return []
    own = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return [own / 1024, *(megabytes for child in children for megabytes in _held(int(child)))]


def many(runs: int) -> None:
    """(c) The corpus over and over: 1,000, 10,000 and 100,000 recipes, once each; and what all processes hold."""
    print("### (c) many recipes\n")
    print("| recipes | processor time | each | all processes | the largest |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for count in (1_000, 10_000, 100_000):
            target = _copies(Path(folder), count)
            command = [f"{BIN}/recompute-lint", "--isolated", "--no-cache", str(target)]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            together = largest = 0.0
            while True:
                ended, _, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                held = _held(process.pid)
                together, largest = max(together, sum(held)), max(largest, *held, 0.0)
                time.sleep(0.2)
            seconds = usage.ru_utime + usage.ru_stime
            print(f"| {count:,} | {seconds:.1f} s | {1000 * seconds / count:.2f} ms "
                  f"| {together:.0f} MB | {largest:.0f} MB |")  # fmt: skip
    print()


def kept(runs: int) -> None:
    """(g) A recipe under a contract that was derived from source before, and under the one that is shipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recompute-lint" / "megatron-core"
    recipe = str(RECIPES / "llm" / "grpo-qwen3-30ba3b-8n8g-megatron.yaml")
    print("### (g) a contract that is kept\n")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        commands = {
            f"{kind} {release}": [f"{BIN}/recompute-lint", "--isolated", "--mcore", source, recipe]
            for release in ("0.16.1", "0.19.2")
            for kind, source in (("shipped", release), ("derived", str(cache / release)))
        }
        table(measure(commands, 2 * runs), "shipped 0.19.2")


def derive(runs: int) -> None:
    """(e) A contract derived from source: the oldest release with modules, and the newest."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recompute-lint" / "megatron-core"
    print("### (e) a contract from source\n")
    commands = {"python -c pass": [sys.executable, "-c", "pass"]}
    for release in ("0.12.0", "0.19.2"):
        commands[f"contract derive {release}"] = [f"{BIN}/recompute-lint", "contract", "derive", str(cache / release)]
    table(measure(commands, runs), "python -c pass")
    from recompute_lint.schemas import store

    def load() -> float:
        start = time.perf_counter()
        store.load("0.19.2")
        return time.perf_counter() - start

    best = min(load() for _ in range(20)) * 1000
    print(f"Loading the largest contract, inside a process: {best:.2f} ms at best of 20\n")


#: The hidden default of RCL301's first form, for tools that search by pattern.
_PATTERN = '$X.get("recompute_granularity", $D)'
_SEMGREP = """\
rules:
  - id: hidden-default
    languages: [python]
    severity: ERROR
    message: hidden default
    pattern: $X.get("recompute_granularity", $D)
"""
_FIXIT = """\
import libcst as cst
import libcst.matchers as m
from fixit import LintRule


class HiddenDefault(LintRule):
    MESSAGE = "hidden default"

    def visit_Call(self, node: cst.Call) -> None:
        key = m.Arg(m.SimpleString(value='"recompute_granularity"'))
        if m.matches(node, m.Call(func=m.Attribute(attr=m.Name("get")), args=[key, m.Arg()])):
            self.report(node)
"""


def checkout(runs: int) -> None:
    """(d) A whole checkout, Python, YAML and scripts, against ruff and tools that search Python by pattern.

    The checkouts are those in $CHECKOUTS, folders with ``:`` between them; those tools are run that are there.
    """
    for project in map(Path, os.environ["CHECKOUTS"].split(":")):
        print(f"### (d) {project.name}\n")
        with tempfile.TemporaryDirectory() as folder:
            rule = Path(folder, "rule.yaml")
            rule.write_text(_SEMGREP)
            Path(folder, "hidden_default.py").write_text(_FIXIT)
            Path(folder, "pyproject.toml").write_text('[tool.fixit]\nroot = true\nenable = [".hidden_default"]\n')
            shutil.copytree(project / "nemo_rl", Path(folder, "nemo_rl")) if (project / "nemo_rl").is_dir() else None
            everything = {
                "ruff": [tool("ruff"), "check", "--no-cache", "--isolated", project],
                "recompute-lint": [f"{BIN}/recompute-lint", "--isolated", "--no-cache", project],
                "ast-grep": [tool("ast-grep"), "run", "--lang", "python", "--pattern", _PATTERN, project],
                "semgrep": [tool("semgrep"), "scan", "--metrics=off", "--disable-version-check", "--quiet",
                            "--no-git-ignore", "--config", rule, project],
                "fixit, nemo_rl only": [tool("fixit"), "lint", Path(folder, "nemo_rl")],
            }  # fmt: skip
            commands = {
                name: [str(part) for part in command]
                for name, command in everything.items()
                if Path(command[0]).exists() and Path(command[-1]).exists()
            }
            table(measure(commands, runs), "ruff")


#: As many attributes as a TransformerConfig of 0.16.1 has.
_ATTRIBUTES = 240


def validate(runs: int) -> None:
    """(f) A configuration in a running program, as a framework checks it when it starts."""
    from types import SimpleNamespace

    from recompute_lint import findings
    from recompute_lint.schemas import store

    model: dict[str, object] = {
        "num_layers": 4,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "recompute_granularity": "selective",
    }
    fields = {**store.load("0.16.1").defaults, **model, "recompute_modules": ["core_attn", "moe"], "num_moe_experts": 8}
    config = SimpleNamespace(**fields, **{f"field_{number}": number for number in range(_ATTRIBUTES - len(fields))})
    mapping: dict[str, object] = {**model, "recompute_modules": ["core_attn"]}
    assert findings(config, "0.16.1") == findings(mapping, "0.16.1") == []
    print(f"### (f) validate, in a running program: processor time, median and 95th percentile of {100 * runs}\n")
    print("| configuration | median | 95 % within |\n|---|---|---|")
    for name, checked, changed in (
        (f"an object with {_ATTRIBUTES} attributes", config, config.__dict__),
        ("the same, other values each time", config, config.__dict__),
        ("a mapping of its settings", mapping, mapping),
    ):
        seconds = []
        for turn in range(100 * runs):
            if "each time" in name:
                changed["hidden_dropout"] = turn / 1e6  # a field that guards look at, so that no verdict is known
            start = time.thread_time()
            findings(checked, "0.16.1")
            seconds.append(time.thread_time() - start)
        most = sorted(seconds)[len(seconds) * 95 // 100]
        print(f"| {name} | {1000 * statistics.median(seconds):.2f} ms | {1000 * most:.2f} ms |")
    print("\nThe first call, in a whole process:\n")
    call = "from recompute_lint import validate; validate({'recompute_granularity': None}, '0.16.1')"
    table(measure({"python -c pass": [sys.executable, "-c", "pass"], "validate": [sys.executable, "-c", call]}, runs),
          "python -c pass")  # fmt: skip


SUITES = {
    "recipes": recipes,
    "one": one,
    "many": many,
    "checkout": checkout,
    "derive": derive,
    "validate": validate,
    "kept": kept,
}


def main() -> None:
    """Run the suites that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"{', '.join(SUITES)} (default: recipes, one, many)")
    parser.add_argument("--runs", type=int, default=9, help="how often each command runs (default: 9)")
    arguments = parser.parse_args()
    if not RECIPES.is_dir() and arguments.names != ["validate"]:
        raise SystemExit(f"the corpus is not at {os.path.relpath(CORPUS)}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in arguments.names or ["recipes", "one", "many"]:
        SUITES[name](arguments.runs)


if __name__ == "__main__":
    main()
