"""Write docs/bench.md's tables out of what ``gpu_tables.sh`` has measured: ``gpu_tables.py FOLDER [--gpu NAME]``.

The folder has, of each recipe, ``bench.NAME.json`` (measured on the GPU), ``predicted.NAME.json`` (from a CPU) and
``smoke.NAME.json``; one that is missing or no JSON is said to be so in the table. ``tables.md`` and ``calibration.md``
are written beside them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from recompute_lint.smoke.advise.gpus import GPUS

_MIB, _GIB = 2**20, 2**30

_TABLE = (
    "| hardware | recipe | recompute | predicted on a CPU, per layer | measured on the GPU, per layer | ratio "
    "| peak memory | a layer | step | tokens/s |\n|---|---|---|---:|---:|---:|---:|---:|---:|---:|"
)

#: ``advise`` bounds the time of a step by the data sheet's speed: the part of it that a layer reaches, and what a
#: recomputation costs it in time beside what it costs in operations.
_CALIBRATION = (
    "| recipe | recompute | operations, over none | time, over none | of the data sheet's bf16 speed |\n"
    "|---|---|---:|---:|---:|"
)


def main() -> int:
    """Write both files; 1 if no row was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", choices=sorted(GPUS), default="h200")
    options = parser.parse_args()
    names = sorted(path.name[len("bench.") : -len(".json")] for path in options.folder.glob("bench.*.json"))
    table, calibration, notes, measured = [_TABLE], [_CALIBRATION], [], 0
    for name in names:
        found = {kind: _read(options.folder / f"{kind}.{name}.json") for kind in ("bench", "predicted", "smoke")}
        notes += _notes(name, found)
        if found["bench"] is None:
            table.append(f"|  | {name} | no answer: see bench.{name}.log | | | | | | | |")
            continue
        rows = found["bench"]["rows"]
        measured += sum(row["saved"] is not None for row in rows)
        predicted = _predicted(found["predicted"])
        hardware = found["bench"]["environment"]["device"]
        table += [_row(hardware, name, row, predicted.get(row["variant"])) for row in rows]
        calibration += [
            _calibrated(name, row, rows[0], GPUS[options.gpu].flops) for row in rows if row["layer_seconds"]
        ]
    (options.folder / "tables.md").write_text("\n".join([*table, "", *notes]) + "\n", encoding="utf-8")
    (options.folder / "calibration.md").write_text("\n".join(calibration) + "\n", encoding="utf-8")
    return 0 if measured else 1


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _predicted(found: dict[str, Any] | None) -> dict[str, float]:
    """Bytes per layer by variant, for the kind of layer that a bench of one layer builds: experts where there are."""
    per_layer: dict[str, dict[str, float]] = {}
    for prediction in (found or {}).get("predictions", ()):
        per_layer.setdefault(prediction["variant"], {})[prediction["kind"]] = prediction["bytes_per_layer"]
    # A model of both kinds is measured with one layer of each.
    return {variant: sum(kinds.values()) / len(kinds) for variant, kinds in per_layer.items()}


def _row(hardware: str, name: str, row: dict[str, Any], predicted: float | None) -> str:
    if row["saved"] is None:
        return f"| {hardware} | {name} | {row['variant']} | not measured: {_cell(row['reason'])} | | | | | | |"
    # What the allocator has holds Transformer Engine's own buffers, too, of which hooks are told nothing.
    held = row["allocated"] or row["saved"]
    ratio = f"{held / predicted:.3f}" if predicted else ""
    times = [f"{row[each] * 1e3:.2f} ms" if row[each] else "" for each in ("layer_seconds", "seconds")]
    speed = f"{row['tokens_per_second']:,.0f}" if row["tokens_per_second"] else ""
    expected = f"{predicted / _MIB:.2f} MiB" if predicted else ""
    return (
        f"| {hardware} | {name} | {row['variant']} | {expected} | {held / _MIB:.2f} MiB | {ratio} "
        f"| {row['peak'] / _GIB:.2f} GiB | {' | '.join(times)} | {speed} |"
    )


def _calibrated(name: str, row: dict[str, Any], plain: dict[str, Any], speed: float) -> str:
    over = ["", ""]
    if plain["layer_seconds"]:
        over = [f"{row[each] / plain[each]:.3f}" for each in ("layer_flops", "layer_seconds")]
    reached = row["layer_flops"] / row["layer_seconds"] / speed
    return f"| {name} | {row['variant']} | {over[0]} | {over[1]} | {100 * reached:.1f} % |"


def _notes(name: str, found: dict[str, dict[str, Any] | None]) -> list[str]:
    notes = []
    if found["bench"]:
        environment, run = found["bench"]["environment"], found["bench"]["sizes"]
        notes.append(
            f"- {name}: torch {environment['torch']}, Megatron-Core {environment['megatron_core']}, "
            f"{found['bench']['settings']['num_layers']} layer(s), sequence {run['seq_length']}, micro-batch "
            f"{run['micro_batch_size']}"
        )
        notes += [f"- {name}, stand-in: {line}" for line in environment["stand_ins"]]
    for site in (found["smoke"] or {"sites": []})["sites"]:
        notes.append(f"- {name}, smoke: {site['verdict']}{': ' + _cell(site['reason']) if site['reason'] else ''}")
    return notes


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    raise SystemExit(main())
