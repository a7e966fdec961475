"""Compare a contract with the real class: ``python -m tests.differential.harness --help``.

A configuration counts when the same one with recompute off is valid: what is wrong with the rest is not the contract's
concern. Verdicts must agree on every one that counts, and where both refuse, the contract's broken guards must include
the one that raised.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from recompute_lint.schemas.derive import derive

from .sample import NEW, TRANSFORMER_ENGINE, Config, Sampler, fits

ROOT = Path(__file__).resolve().parent.parent.parent
CHILD = Path(__file__).with_name("child.py")
BATCH = 400
MEMORY = 16 << 30


@dataclass(slots=True)
class Result:
    """What a comparison found.

    ``raised`` counts the configurations that each guard (by source) was the first to refuse, ``passed`` the valid ones
    that were made near it; ``disagreements`` are the configurations with both verdicts.
    """

    release: str
    guards: list[str]
    untranslated: int
    counted: int = 0
    tried: int = 0
    refused: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    disagreements: list[dict[str, Any]] = field(default_factory=list)

    @property
    def hit(self) -> list[str]:
        """The guards hit from both sides."""
        return [guard for guard in self.guards if self.raised[guard] and self.passed[guard]]

    def row(self) -> str:
        """The result as a row of the table in ``docs/contract.md``."""
        agreement = 100 * (1 - len(self.disagreements) / max(self.counted, 1))
        shown = f"{agreement:.0f} %" if not self.disagreements else f"{agreement:.3f} %"
        return (
            f"| {self.release} | {len(self.guards)} | {self.untranslated} | {self.counted:,} | {self.refused:,} "
            f"| {shown} | {len(self.hit)} of {len(self.guards)} |"
        )


class RealClass:
    """The configuration classes of a release, in a child process.

    Args:
        python: an interpreter that has CPU torch.
        root: the release's folder.
    """

    def __init__(self, python: str, root: Path) -> None:
        limited = ["bash", "-c", f'ulimit -v {MEMORY >> 10}; exec "$0" "$@"', python, str(CHILD), str(root)]
        self.process = subprocess.Popen(
            limited, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        first = self._out.readline()
        if not first:
            raise RuntimeError(f"{root} could not be imported with {python}")
        self.fields: dict[str, list[str]] = json.loads(first)["fields"]
        self._known: dict[str, Any] = {}

    @property
    def _in(self) -> IO[str]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def _out(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def __enter__(self) -> RealClass:
        return self

    def __exit__(self, *_: object) -> None:
        self._in.close()
        self.process.wait(timeout=30)

    def verdicts(self, configs: list[Config], kind: str = "TransformerConfig") -> list[Any]:
        """What the class says to each configuration; see ``child``."""
        lines = [json.dumps([kind, config], sort_keys=True) for config in configs]
        asked = [line for line in dict.fromkeys(lines) if line not in self._known]
        if asked:
            # Small enough a batch for the pipe's buffers: the child answers while it reads.
            self._in.write("\n".join(asked) + "\n\n")
            self._in.flush()
            for line in asked:
                self._known[line] = json.loads(self._out.readline())
            self._out.readline()
        found = [self._known[line] for line in lines]
        if len(self._known) > 200_000:
            self._known.clear()
        return found


def compare(release: str, contract: dict[str, Any], root: Path, python: str, count: int, seed: int = 0) -> Result:
    """Compare verdicts on at least ``count`` configurations that count, and on more until every guard is hit both ways.

    Args:
        release: the name to report.
        contract: the schema to check.
        root: the folder with the release's ``megatron``.
        python: an interpreter that has CPU torch.
        count: how many configurations to compare.
        seed: of the sampling.
    """
    sources = [branch["x-source"] for branch in contract["allOf"]]
    result = Result(release, sources, len(contract["x-untranslated"]))
    chance = random.Random(seed)
    with RealClass(python, root) as real:
        sampler = Sampler(contract, real.fields["TransformerConfig"], seed)
        valid: list[Config] = []
        enough = 40 * count + 20_000
        while (result.counted < count or len(result.hit) < len(sources)) and result.tried < enough:
            made = [_make(sampler, contract, result, valid, chance) for _ in range(BATCH)]
            configs = [config for _, config in made]
            off = real.verdicts([recompute_off(config, contract) for config in configs])
            counted = [at for at, verdict in enumerate(off) if verdict is None]
            verdicts = real.verdicts([configs[at] for at in counted])
            result.tried += len(made)
            for at, verdict in zip(counted, verdicts, strict=True):
                guard, config = made[at]
                _judge(result, contract, root, guard, config, verdict)
                if len(valid) < 3000:
                    valid.append(config)
                else:
                    valid[chance.randrange(3000)] = config
    return result


def recompute_off(config: Config, contract: dict[str, Any]) -> Config:
    """A configuration without its recompute settings."""
    return {name: value for name, value in config.items() if name not in contract["x-recompute"]}


def broken_guards(contract: dict[str, Any], config: Config) -> list[str]:
    """The source lines of the guards that a contract says refuse a configuration.

    A guard on an installed package's version counts where that is older; PyTorch, which runs the comparison, never is.
    """
    defaults = {name: f["default"] for name, f in contract["properties"].items() if "default" in f}
    instance = {**defaults, **config}
    return [
        branch["x-source"]
        for branch in contract["allOf"]
        if fits(branch["not"], instance)
        and not ("x-requires" in branch and (config.get(TRANSFORMER_ENGINE) == NEW or "torch" in branch["x-requires"]))
    ]


def _make(
    sampler: Sampler, contract: dict[str, Any], result: Result, valid: list[Config], chance: random.Random
) -> tuple[str | None, Config]:
    """A configuration and the guard that it was made for."""
    kind = chance.random()
    if kind < 0.6 or not valid:
        branches = chance.sample(contract["allOf"], k=min(3, len(contract["allOf"])))
        branch = min(branches, key=lambda b: min(result.raised[b["x-source"]], result.passed[b["x-source"]]))
        return branch["x-source"], sampler.near(branch)
    if kind < 0.9:
        return None, sampler.beside(chance.choice(valid))
    return None, sampler.anywhere()


def _judge(
    result: Result, contract: dict[str, Any], root: Path, guard: str | None, config: Config, verdict: Any
) -> None:
    """Count a configuration, and note where the two verdicts differ."""
    result.counted += 1
    broken = broken_guards(contract, config)
    if verdict is None:
        if guard is not None and guard not in broken:
            result.passed[guard] += 1
        if broken:
            result.disagreements.append({"config": config, "contract": broken, "real": None})
        return
    result.refused += 1
    file, line, words = verdict
    place = f"{file}#L{_statement(str(root / file), line)}"
    result.raised[place] += 1
    if place not in broken:
        result.disagreements.append({"config": config, "contract": broken, "real": [place, words]})


def _statement(path: str, line: int) -> int:
    """The line on which the ``raise`` or ``assert`` around a line starts."""
    starts = [start for start, end in _statements(path) if start <= line <= end]
    return max(starts, default=line)


@lru_cache(maxsize=8)
def _statements(path: str) -> list[tuple[int, int]]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.Raise, ast.Assert))]
    return [(node.lineno, node.end_lineno or node.lineno) for node in found]


def shipped_contract(release: str) -> dict[str, Any]:
    """The contract that is shipped for a release."""
    folder = ROOT / "schemas" / "mcore"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return json.loads((folder / index["releases"][release]).read_text(encoding="utf-8"))


def distinct_releases() -> list[str]:
    """The first release of each shipped contract."""
    index = json.loads((ROOT / "schemas" / "mcore" / "index.json").read_text(encoding="utf-8"))
    return [release for release, file in index["releases"].items() if file == f"{release}.json"]


def main(argv: list[str] | None = None) -> int:
    """Compare releases with their contracts and print the table's rows; exit status 1 where anything is amiss."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("releases", nargs="*", help="releases (default: the first of each shipped contract)")
    parser.add_argument("--sources", type=Path, required=True, help="folder with a folder for each release")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has CPU torch")
    parser.add_argument("--count", type=int, default=2000, help="configurations a release (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="disagreements to print (default: %(default)s)")
    arguments = parser.parse_args(argv)
    bad = False
    for release in arguments.releases or distinct_releases():
        root = arguments.sources / release
        known = json.loads((ROOT / "schemas" / "mcore" / "index.json").read_text(encoding="utf-8"))["releases"]
        contract = shipped_contract(release) if release in known else derive(root, release)
        started = time.monotonic()
        result = compare(release, contract, root, arguments.python, arguments.count, arguments.seed)
        print(f"{result.row()} {time.monotonic() - started:.0f} s, {result.tried:,} tried", flush=True)
        for guard in result.guards:
            if guard not in result.hit:
                print(f"    not hit both ways: {guard}: raised {result.raised[guard]}, passed {result.passed[guard]}")
        for entry in result.disagreements[: arguments.show]:
            print(f"    {json.dumps(entry)}")
        bad |= bool(result.disagreements) or len(result.hit) < len(result.guards)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
