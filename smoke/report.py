"""Write smoke and bench results as text, markdown or JSON. Imports no torch."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from . import smoke
from .bench import Bench, Row
from .predicted import Predicted
from .request import NOT_RUN, PASS

_GIB = 1024**3


def smoke_text(results: list[smoke.SiteResult]) -> str:
    """One block per site, then a line that counts the verdicts."""
    blocks = [_site_text(result) for result in results]
    environment = next((result.environment for result in results if result.environment), None)
    if environment:
        blocks.append(_environment_text(environment))
    passed = sum(result.verdict == PASS for result in results)
    failed = sum(result.failed for result in results)
    not_run = sum(result.verdict == NOT_RUN for result in results)
    blocks.append(f"{passed} passed, {failed} failed, {not_run} not run")
    return "\n".join(blocks) + "\n"


def smoke_json(results: list[smoke.SiteResult]) -> str:
    """The same as one JSON object: ``sites`` and ``exit_code``."""
    sites = []
    for result in results:
        entry: dict[str, Any] = {
            "site": result.site.label,
            "verdict": result.verdict,
            "reason": result.reason,
            "stage": result.stage,
            "frame": result.frame,
            "seconds": round(result.seconds, 3),
            "peak_memory_bytes": result.peak_memory,
            "measured": result.measured,
            "environment": result.environment,
        }
        if result.plan:
            entry.update(
                settings=result.plan.settings,
                sizes=result.plan.run,
                assumed=result.plan.assumed,
                reduced=result.plan.reduced,
            )
        sites.append(entry)
    return json.dumps({"sites": sites, "exit_code": smoke.exit_code(results)}, indent=2, default=str) + "\n"


def smoke_markdown(results: list[smoke.SiteResult]) -> str:
    """A table, one row per site."""
    lines = ["| site | verdict | saved for backward: off | on | why |", "|---|---|---:|---:|---|"]
    for result in results:
        why = "; ".join(part for part in (result.reason, result.frame) if part)
        off, on = (_grouped(result.measured.get(name)) for name in ("saved_off", "saved_on"))
        lines.append(f"| {result.site.label} | {result.verdict} | {off} | {on} | {why.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def bench_markdown(bench: Bench) -> str:
    """The measured table, and the predicted one where there is a prediction."""
    where = bench.environment["device"] if bench.is_cuda else "a CPU, which gives bytes and operations, and no times"
    run = bench.plan.run
    titles, rules = _ON_CUDA if bench.is_cuda else ("", "")
    lines = [
        f"### Recompute at {bench.site.label}",
        "",
        f"Measured on {where}; torch {bench.environment['torch']}, Megatron-Core {bench.environment['megatron_core']}; "
        f"{bench.plan.settings['num_layers']} layer(s), hidden {bench.plan.settings['hidden_size']}, sequence "
        f"{run['seq_length']}, micro-batch {run['micro_batch_size']}. In brackets the ratio to none"
        f"{'; times are wall time, medians with the median absolute deviation' if bench.is_cuda else ''}.",
        "",
        f"| recompute | saved for backward, per layer | peak memory | operations |{titles}",
        f"|---|---:|---:|---:|{rules}",
    ]
    base = bench.rows[0]
    lines += [_bench_row(row, base, bench.is_cuda) for row in bench.rows]
    if bench.predicted.stage_rows:
        lines += ["", *_prediction_markdown(bench.predicted)]
    if bench.predicted.problem:
        first, *rest = bench.predicted.problem.splitlines()
        lines += ["", f"Not predicted at the real sizes: {first}", *(f"- {line.strip()}" for line in rest)]
    notes = [f"- assumed: {line}" for line in bench.plan.assumed] + [
        f"- reduced: {line}" for line in bench.plan.reduced
    ]
    notes += [f"- stand-in: {line}" for line in bench.environment["stand_ins"]]
    if notes:
        lines += ["", *notes]
    return "\n".join(lines) + "\n"


def bench_json(bench: Bench) -> str:
    """The same as one JSON object; bytes, seconds and operations."""
    document = {
        "site": bench.site.label,
        "environment": bench.environment,
        "indicative_only": not bench.is_cuda,
        "settings": bench.plan.settings,
        "sizes": bench.plan.run,
        "real": bench.plan.real,
        "assumed": bench.plan.assumed,
        "reduced": bench.plan.reduced,
        "rows": [dataclasses.asdict(row) for row in bench.rows],
        "stage_layers": bench.predicted.stage,
        "predictions": [row._asdict() for row in bench.predicted.rows],
        "stage_rows": [row._asdict() for row in bench.predicted.stage_rows],
        "prediction_problem": bench.predicted.problem,
        "prediction_notes": bench.predicted.notes,
        "prediction_basis": bench.predicted.basis,
    }
    return json.dumps(document, indent=2, default=str) + "\n"


def _site_text(result: smoke.SiteResult) -> str:
    lines = [f"{result.site.label}: {result.verdict}" + (f": {result.reason}" if result.reason else "")]
    if result.stage and result.verdict != PASS:
        lines.append(f"  during: {result.stage}")
    if result.frame:
        lines.append(f"  at: {result.frame}")
    measured = result.measured
    if "saved_on" in measured:
        off, on = measured["saved_off"], measured["saved_on"]
        lines.append(f"  saved for backward: {off:,} -> {on:,} bytes ({on / off - 1:+.0%})")
        alone = measured.get("modules", {})
        if alone:
            told = (
                f"{name} {count:,}" if isinstance(count, int) else f"{name} ({count})" for name, count in alone.items()
            )
            lines.append(f"  saved by each module alone: {', '.join(told)}")
    if "gradient_error" in measured:
        lines.append(
            f"  loss {measured['loss_off']:.6f} / {measured['loss_on']:.6f}; gradients differ by at most "
            f"{measured['gradient_error']:.1e} of their norm (tolerance {measured['gradient_tolerance']:g})"
        )
    unread = [name for name in measured.get("unread", ()) if relevant(name)]
    if unread:
        lines.append(f"  no field of this release's TransformerConfig: {', '.join(unread)}")
    if result.plan:
        if result.plan.guessed:
            lines.append("  the model is a guess: --model PATH of its config.json, or --facts, gives its sizes")
        lines += [f"  assumed: {line}" for line in result.plan.assumed]
        lines += [f"  reduced: {line}" for line in result.plan.reduced]
    if result.environment.get("settings_off"):
        lines.append(f"  off on this device: {', '.join(result.environment['settings_off'])}")
    return "\n".join(lines)


#: Parts of names that have to do with what is run; data, logging and schedules are other business.
_TELLING = re.compile(
    "recompute|checkpoint_act|activations_check|fp8|fp4|swiglu|_norm|moe_|experts?_|attention|offload|mtp_|lora_rank"
)


def relevant(name: str) -> bool:
    """Whether a key that nothing reads is worth a word."""
    return _TELLING.search(name) is not None


def _environment_text(environment: dict[str, Any]) -> str:
    lines = [
        f"{environment['device']}; torch {environment['torch']}, Megatron-Core {environment['megatron_core']}",
        *(f"  stand-in: {line}" for line in environment["stand_ins"]),
    ]
    return "\n".join(lines)


#: Columns that only a GPU fills.
_ON_CUDA = (" allocated, per layer | a layer | step | tokens/s |", "---:|---:|---:|---:|")


def _bench_row(row: Row, base: Row, is_cuda: bool) -> str:
    why = "; ".join(part for part in (row.reason, row.frame) if part).replace("|", "\\|")
    if row.saved is None:
        empty = " |" * (6 if is_cuda else 2)
        return f"| {row.variant} | not measured: {why} |{empty}"
    cells = [
        f"{_size(row.saved)}{_ratio(row.saved, base.saved)}",
        f"{_size(row.peak)}{_ratio(row.peak, base.peak)}",
        f"{(row.flops or 0) / 1e9:.3f} GFLOP{_ratio(row.flops, base.flops)}",
    ]
    if is_cuda:
        cells.append(f"{_size(row.allocated)}{_ratio(row.allocated, base.allocated)}")
        cells += _time_cells(row, base) if row.seconds is not None else [f"not timed: {why}", "", ""]
    return f"| {row.variant} | {' | '.join(cells)} |"


def _time_cells(row: Row, base: Row) -> list[str]:
    return [
        f"{_milliseconds(row.layer_seconds, row.layer_spread)}{_ratio(row.layer_seconds, base.layer_seconds)}",
        f"{_milliseconds(row.seconds, row.spread)}{_ratio(row.seconds, base.seconds)}",
        f"{row.tokens_per_second:,.0f}{_ratio(row.tokens_per_second, base.tokens_per_second)}",
    ]


def _milliseconds(seconds: float | None, spread: float | None) -> str:
    return f"{(seconds or 0) * 1e3:.2f} ± {(spread or 0) * 1e3:.2f} ms"


def _prediction_markdown(found: Predicted) -> list[str]:
    layers = ", ".join(f"{count} {kind}" for kind, count in found.stage.items() if count)
    lines = [
        f"Predicted at the recipe's real sizes, per GPU, without one: {found.basis}; {layers} layer(s) in the fullest "
        "pipeline stage. In brackets the ratio to none.",
        "",
        "| recompute | per layer | the stage's activations at their peak | all that is allocated |",
        "|---|---:|---:|---:|",
    ]
    base = found.stage_rows[0]
    for row in found.stage_rows:
        per_layer = " / ".join(f"{_size(count)} {kind}" for kind, count in row.per_layer.items())
        cells = [
            f"{_gib(count)}{_ratio(count, plain)}"
            for count, plain in ((row.activations, base.activations), (row.peak, base.peak))
        ]
        lines.append(f"| {row.variant} | {per_layer} | {' | '.join(cells)} |")
    if found.notes:
        lines += ["", *(f"- {note}" for note in found.notes)]
    return lines


def _ratio(value: float | None, base: float | None) -> str:
    return f" ({value / base:.2f})" if value is not None and base else ""


def _size(count: float | None) -> str:
    if count is None:
        return ""
    for unit, size in (("GiB", _GIB), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} B"


def _gib(count: float) -> str:
    return f"{count / _GIB:.2f} GiB"


def _grouped(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else ""
