"""Open sites against the real class: ``python -m tests.differential.open_sites --sources FOLDER [RELEASE ...]``.

A configuration in which every live field of the contract is written, as people write it at a place that leaves the
rest open: a NeMo-RL recipe, assignments in Python, overrides in a launch script. Each refusal of the real class must be
reported, and none be invented. Live fields are those that a guard looks at and that the source does not call
deprecated; a deprecated one is written where a sample has it. A configuration counts when the same one with recompute
off is valid.

Errors of the framework's own checks (RCL111) and of what fails only in training (RCL112) are no refusals of the class.
Left out are, in NeMo-RL, what its own keys cannot say (a granularity that it does not know, another method than the one
that it sets, modules without a granularity), and in Python an empty list of modules, which code fills later.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

from recompute_lint import lint_text
from recompute_lint.sources.dialects import nemo_rl

from .harness import RealClass, distinct_releases, recompute_off, shipped_contract
from .sample import TRANSFORMER_ENGINE, Config, Sampler

#: Not refusals of the class.
_OTHER_RULES = ("RCL111", "RCL112")


class Result(NamedTuple):
    """What a comparison found for one way of writing."""

    way: str
    counted: int
    refused: int
    missed: list[Config]
    invented: list[Config]


def compare(release: str, root: Path, python: str, count: int, seed: int = 0) -> list[Result]:
    """Compare ``count`` configurations of a release, written in each way.

    Args:
        release: a release with a contract.
        root: the folder with its ``megatron``.
        python: an interpreter that has CPU torch.
        count: how many configurations.
        seed: of the sampling.
    """
    contract = shipped_contract(release)
    chance = random.Random(seed)
    results = []
    with RealClass(python, root) as real:
        declared = real.fields["TransformerConfig"]
        for way, write in WAYS.items():
            sampler = Sampler(contract, declared, seed)
            counted = refused = 0
            missed, invented = [], []
            while counted < count:
                near = [sampler.near(chance.choice(contract["allOf"])) for _ in range(100)]
                texts = [(config, write(_whole(config, contract, declared))) for config in near]
                kept = [(config, *text) for config, text in texts if text is not None]
                off = real.verdicts([recompute_off(meant, contract) for _, meant, _, _ in kept])
                kept = [one for one, verdict in zip(kept, off, strict=True) if verdict is None]
                for (config, meant, name, text), verdict in zip(
                    kept, real.verdicts([meant for _, meant, _, _ in kept]), strict=True
                ):
                    counted += 1
                    refused += verdict is not None
                    found = _errors(name, text, release, config.get(TRANSFORMER_ENGINE))
                    entry = {"config": meant, "real": verdict, "found": found, "text": text}
                    if verdict is not None and not found:
                        missed.append(entry)
                    elif verdict is None and found:
                        invented.append(entry)
            results.append(Result(way, counted, refused, missed, invented))
    return results


def _whole(config: Config, contract: dict[str, Any], declared: list[str]) -> Config:
    """A configuration with the default of every live field that it does not set."""
    live = {
        name: field["default"]
        for name, field in contract["properties"].items()
        if "default" in field and not field.get("deprecated") and name in declared
    }
    return {**live, **config}


def _errors(name: str, text: str, release: str, te: str | None) -> list[str]:
    report = lint_text(text, name, mcore=release, te=te or "", isolated=True)
    return [
        f"{one.code} {one.message}"
        for one in report.diagnostics
        if one.severity == "error" and one.code not in _OTHER_RULES
    ]


# ---- ways to write: the configuration that is meant, a file name and the text; None where it cannot be said


def _nemo_rl(config: Config) -> tuple[Config, str, str] | None:
    meant = {name: value for name, value in config.items() if name not in ("recompute_method", "recompute_num_layers")}
    granularity = meant.get("recompute_granularity")
    if granularity not in (None, "full", "selective"):
        return None
    own: Config = {"activation_checkpointing": granularity is not None}
    if granularity == "full":
        meant.update(recompute_method="uniform", recompute_num_layers=1)
        meant.pop("recompute_modules", None)
    elif granularity is None:
        if meant.get("moe_layer_recompute"):
            return None  # the list of modules that counts then is not written
        meant.pop("recompute_modules", None)
    overrides: Config = {}
    for name, value in meant.items():
        if name in (TRANSFORMER_ENGINE, "recompute_method", "recompute_num_layers"):
            continue
        if name == "recompute_granularity" and value is None:
            continue
        first_class = name in nemo_rl._PASSED_ON or name in nemo_rl._FIRST_CLASS
        (own if first_class else overrides)[name] = value
    return (
        meant,
        "recipe.yaml",
        json.dumps({"policy": {"megatron_cfg": {**own, "model_overrides": overrides}}}, indent=1),
    )


def _python(config: Config) -> tuple[Config, str, str] | None:
    if config.get("recompute_modules") == []:
        return None
    lines = [f"    cfg.model.{name} = {value!r}" for name, value in config.items() if name != TRANSFORMER_ENGINE]
    return config, "recipe.py", "\n".join(["def recipe(cfg):", *lines, "    return cfg", ""])


def _script(config: Config) -> tuple[Config, str, str] | None:
    words = [f"'model.{name}={_hydra(value)}'" for name, value in config.items() if name != TRANSFORMER_ENGINE]
    return config, "run.sh", " \\\n  ".join(["python run_recipe.py --recipe r", *words]) + "\n"


def _hydra(value: Any) -> str:
    """A value as the override grammar of Hydra has it."""
    if isinstance(value, list):
        return f"[{','.join(map(_hydra, value))}]"
    if isinstance(value, str):
        return f'"{value}"' if "," in value or not value else value
    return json.dumps(value)


WAYS = {"NeMo-RL recipe": _nemo_rl, "assignments in Python": _python, "overrides in a script": _script}


def main(argv: list[str] | None = None) -> int:
    """Compare, and print the rows of the table in ``docs/contract.md``; exit status 1 where the two differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("releases", nargs="*", help="releases (default: the first of each shipped contract)")
    parser.add_argument("--sources", type=Path, required=True, help="folder with a folder for each release")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has CPU torch")
    parser.add_argument(
        "--count", type=int, default=300, help="configurations a release and way (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=2, help="differences to print (default: %(default)s)")
    arguments = parser.parse_args(argv)
    bad = False
    for release in arguments.releases or distinct_releases():
        results = compare(release, arguments.sources / release, arguments.python, arguments.count, arguments.seed)
        cells = []
        for one in results:
            reported, wrong = one.refused - len(one.missed), len(one.invented)
            cells.append(f"{one.counted:,} | {reported:,} of {one.refused:,} | {wrong}")
        print(f"| {release} | {' | '.join(cells)} |", flush=True)
        for one in results:
            for kind in ("missed", "invented"):
                for entry in getattr(one, kind)[: arguments.show]:
                    print(f"    {one.way}, {kind}: {json.dumps(entry)}")
                    bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
