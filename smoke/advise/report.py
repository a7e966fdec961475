"""Predictions as text, Markdown and JSON. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...lint_rules.wording import joined
from .choices import Choice, front
from .estimate import Stage
from .predict import Prediction

_GB = 1e9

#: Times of a roofline that are closer than this are not told apart.
_FASTER = 0.98


def answer(found: Prediction) -> str:
    """The one line that matters."""
    configured, best = found.configured, found.cheapest
    have = f"{configured.peak / _GB:.1f} of {found.memory / _GB:.0f} GB"
    verdict = "fits" if found.fits(configured) else "does not fit"
    if best is None:
        least = min(found.choices, key=lambda choice: choice.peak)
        return f"{verdict}: {have}; nothing fits: {least.name} takes the least, {least.peak / _GB:.1f} GB"
    if best.name == configured.name or (found.fits(configured) and best.extra_flops >= configured.extra_flops):
        return f"{verdict}: {have} with {configured.name}, {_percent(configured)} FLOPs; nothing cheaper fits"
    return f"{verdict}: {have}; cheapest that fits: {best.name}, {best.peak / _GB:.1f} GB, {_percent(best)} FLOPs"


def text(found: Prediction, written: list[str], change: str | None, without: Sequence[str] = ()) -> str:
    """For a terminal: ``written`` are the lines to write, ``without`` the settings that must go."""
    parts = [
        f"{found.site.label}: {answer(found)}",
        "",
        *_table(found, markdown=False),
        "",
        *_stages(found, markdown=False),
    ]
    if written or without:
        best = found.cheapest
        steps = [f"take out {joined(list(without))}"] if without else []
        steps += ["write:"] if written else []
        parts += [
            "",
            f"To have {best.name if best else 'it'}, {', and '.join(steps)}",
            *("  " + line for line in written),
        ]
    if change:
        parts += ["", change.rstrip("\n")]
    return "\n".join([*parts, "", *_footnotes(found), ""])


def markdown(found: Prediction, written: list[str], change: str | None, without: Sequence[str] = ()) -> str:
    """For a pull request: ``written`` are the lines to write, ``without`` the settings that must go."""
    parts = [
        f"**{found.site.label}**: {answer(found)}",
        "",
        *_table(found, markdown=True),
        "",
        *_stages(found, markdown=True),
    ]
    if without:
        parts += ["", f"Without {joined([f'`{name}`' for name in without])}{', and with' if written else ''}"]
    if written:
        parts += ["", "```", *written, "```"]
    if change:
        parts += ["", "```diff", change.rstrip("\n"), "```"]
    return "\n".join([*parts, "", *(f"* {note}" for note in _footnotes(found)), ""])


def as_json(found: Prediction) -> dict[str, Any]:
    """For programs; bytes, and shares of operations."""
    return {
        "label": found.site.label,
        "mcore": found.mcore,
        "te": found.te,
        "gpu": found.gpu.name,
        "gpu_memory": found.memory,
        "answer": answer(found),
        "configured": {
            "settings": found.configured.settings,
            "stages": [_stage(stage) for stage in found.configured.stages],
            "peak_allocated": found.configured.peak,
            "extra_flops": round(found.configured.extra_flops, 6),
            "fits": found.fits(found.configured),
        },
        "choices": [
            {
                "settings": choice.settings,
                "peak_allocated": choice.peak,
                "extra_flops": round(choice.extra_flops, 6),
                "step_seconds": round(choice.seconds, 6),
                "fits": found.fits(choice),
            }
            for choice in found.choices
        ],
        "notes": found.notes,
    }


def dumped(found: list[Prediction]) -> str:
    """One site's object, or a list of several."""
    objects = [as_json(each) for each in found]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=2) + "\n"


def shown(found: Prediction) -> list[Choice]:
    """The rows of the table: the front, the configured choice, and the cheapest that fits."""
    rows = front(found.choices)
    blocks = [row for row in rows if row.settings.get("recompute_method") == "block"]
    kept = set()
    if len(blocks) > 4:
        # Of a long row of block sizes the ends, the cheapest that fits, and two between are enough.
        kept = {blocks[round(part * (len(blocks) - 1) / 3)].name for part in range(4)}
    fastest = min(filter(found.fits, found.choices), key=lambda choice: choice.seconds, default=found.configured)
    wanted = {"none", found.configured.name, found.cheapest.name if found.cheapest else "", fastest.name}
    return [
        choice
        for choice in found.choices
        if choice.name in wanted or (choice in rows and (choice not in blocks or not kept or choice.name in kept))
    ]


def _stage(stage: Stage) -> dict[str, int]:
    return {
        "parameters": stage.state.parameters,
        "gradients": stage.state.gradients,
        "optimizer": stage.state.optimizer,
        "activations": stage.activations,
        "workspaces": stage.workspaces,
        "peak_allocated": stage.peak,
    }


def _table(found: Prediction, *, markdown: bool) -> list[str]:
    rows: list[tuple[str, ...]] = [("recompute", "peak", "extra FLOPs", "step by roofline", "")]
    for choice in shown(found):
        marks = ["fits" if found.fits(choice) else "", "configured" if choice.name == found.configured.name else ""]
        rows.append(
            (
                choice.name,
                f"{choice.peak / _GB:.1f} GB",
                _percent(choice),
                f"{choice.seconds:.3g} s",
                ", ".join(mark for mark in marks if mark),
            )
        )
    return _columns(rows, markdown)


def _stages(found: Prediction, *, markdown: bool) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("stage", "parameters", "gradients", "optimizer", "activations", "workspaces", "peak")
    ]
    for number, stage in enumerate(found.configured.stages):
        parts = (*stage.state, stage.activations, stage.workspaces, stage.peak)
        rows.append((str(number), *(f"{part / _GB:.2f}" for part in parts)))
    return _columns(rows, markdown)


def _columns(rows: list[tuple[str, ...]], markdown: bool) -> list[str]:
    if markdown:
        head, *body = ["| " + " | ".join(row) + " |" for row in rows]
        rule = "|" + "|".join(["---", *("---:" for _ in rows[0][1:])]) + "|"
        return [head, rule, *body]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]


def _footnotes(found: Prediction) -> list[str]:
    lines = [
        f"megatron-core {found.mcore} and transformer-engine {found.te} on {found.ranks} {found.gpu.name}; GB is 1e9 "
        "bytes, as torch's allocator counts them; the device needs more: CUDA's context, NCCL's buffers and what the "
        "allocator keeps free."
    ]
    best = found.cheapest
    fastest = min(filter(found.fits, found.choices), key=lambda choice: choice.seconds, default=None)
    if best and fastest and fastest.seconds < _FASTER * best.seconds:
        lines.append(
            f"by the roofline {fastest.name} takes less time than {best.name}, with more operations: "
            f"{fastest.seconds:.3g} s for {best.seconds:.3g} s, at {fastest.peak / _GB:.1f} GB"
        )
    stepping = [stage.step for stage in found.configured.stages if stage.step > stage.activations]
    if stepping:
        lines.append(f"the optimizer's step takes {max(stepping) / _GB:.2f} GB, more than activations: it is the peak")
    if any(note for note in found.notes):
        lines += found.notes
    return lines


def _percent(choice: Choice) -> str:
    return f"{choice.extra_flops:+.1%}".replace("%", " %")
