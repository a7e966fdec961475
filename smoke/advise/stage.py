"""Put a pipeline stage together from its measured pieces, and run its schedule. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .layout import Chunk
from .schedule import order


class Piece(NamedTuple):
    """One piece of a training step, in bytes and floating-point operations.

    Attributes:
        kept: what its forward pass adds to what is alive.
        forward: the most alive during its forward pass, above what was there.
        backward: the most alive during its backward pass, above what was there when its forward pass was over.
        flops: operations of both passes, with what is recomputed.
        seconds: of both passes, by a roofline.
    """

    kept: int
    forward: int
    backward: int
    flops: int
    seconds: float


#: A stretch of layers that is recomputed together, or a single layer: 1 for MoE and 0 for dense of each.
Unit = tuple[int, ...]


class Pieces(NamedTuple):
    """Every piece of one model under one set of recompute settings.

    Attributes:
        embedding: with what is kept of it.
        units: by the kinds of layers in it.
        head: final norm, MTP, output layer and loss.
        boundary: bytes of the tensor that a stage hands to the next.
        persistent: bytes of workspaces and tables, made once.
        resting: bytes that a layer of a unit holds between steps (a token dispatcher's last tensors), by unit.
        batch: bytes of a micro-batch's tokens, labels and mask.
        parameters: by ``embedding``, ``head``, and unit: elements of dense parameters and of experts'; and those of
            ``word_embedding`` and ``output_layer`` alone.
    """

    embedding: Piece
    units: dict[Unit, Piece]
    head: Piece
    boundary: int
    persistent: int
    resting: dict[Unit, int]
    batch: int
    parameters: dict[Any, tuple[int, int]]


def recomputed(recompute: dict[str, Any]) -> str:
    """How many layers a chunk recomputes whole: ``none``, ``all`` or ``block``."""
    if recompute.get("recompute_granularity") != "full":
        return "none"
    return "block" if recompute.get("recompute_method") == "block" else "all"


def units_of(layers: Sequence[int], recompute: dict[str, Any]) -> list[Unit]:
    """A chunk's layers as they are recomputed together: ``uniform`` takes ``recompute_num_layers`` at a time."""
    together = 1
    if recomputed(recompute) == "all":
        together = max(1, int(recompute.get("recompute_num_layers") or 1))
    return [tuple(layers[start : start + together]) for start in range(0, len(layers), together)]


def pattern(chunks: Iterable[Chunk], recompute: dict[str, Any]) -> list[int]:
    """The layers of the smallest model that has every unit of the chunks; single layers are there twice."""
    distinct: list[Unit] = []
    for chunk in chunks:
        for unit in units_of(chunk.layers, recompute):
            if unit not in distinct:
                distinct.append(unit)
    longest = max((len(unit) for unit in distinct), default=1)
    if longest == 1:
        return [kind for unit in distinct for kind in unit * 2] if len(distinct) == 1 else _once(distinct)
    # A shorter unit is what is left over at the end of a chunk, so it comes last.
    return [kind for unit in sorted(distinct, key=lambda unit: -len(unit)) for kind in unit]


def _once(distinct: list[Unit]) -> list[int]:
    """Dense layers before MoE layers, as models have them, and the last kind twice."""
    kinds = [kind for unit in sorted(distinct) for kind in unit]
    return [*kinds, kinds[-1]]


def pieces_of(result: dict[str, Any], layers: Sequence[int], recompute: dict[str, Any]) -> Pieces:
    """The pieces out of a measurement (:func:`.pieces.measure`) of a model with these layers."""
    parts = {tuple(name): rest for name, *rest in result["segments"]}

    def piece(name: Any) -> Piece:
        begun, most, over, work, took = parts[("forward", name)]
        _, peak, _, back, took_back = parts[("backward", name)]
        return Piece(over - begun, most - begun, peak - over, work + back, took + took_back)

    first_pass = {tuple(name): (start, end) for name, start, _, end, *_ in result["first"]}
    units: dict[Unit, Piece] = {}
    resting: dict[Unit, int] = {}
    seen: dict[Unit, list[list[int]]] = {}
    parameters = _parameters(result["parameters"])
    ends = ("embedding", "head", "word_embedding", "output_layer")
    found: dict[Any, tuple[int, int]] = {name: parameters[name] for name in ends}
    first = 0
    for unit in units_of(layers, recompute):
        members = [number for number in range(first, first + len(unit)) if ("forward", number) in parts]
        forward = [parts[("forward", number)] for number in members]
        backs = [parts[("backward", number)] for number in members if ("backward", number) in parts]
        # A group that is recomputed together has one backward part, at its first layer's input.
        units[unit] = Piece(
            forward[-1][2] - forward[0][0],
            max(part[1] for part in forward) - forward[0][0],
            max(back[1] for back in backs) - forward[-1][2],
            sum(part[3] for part in forward + backs),
            sum(part[4] for part in forward + backs),
        )
        seen.setdefault(unit, []).append(members)
        own = [parameters.get(number, (0, 0)) for number in members]
        found[unit] = (sum(dense for dense, _ in own), sum(expert for _, expert in own))
        first += len(unit)
    for unit, places in seen.items():
        # A kind's first layer forward, and its last backward, make the workspaces; the others show what one holds.
        grown = [
            first_pass[way] for way in (("forward", places[-1][0]), ("backward", places[0][0])) if way in first_pass
        ]
        resting[unit] = sum(end - start for start, end in grown) if len(places) > 1 and len(unit) == 1 else 0
    held = sum(resting[unit] * len(places) for unit, places in seen.items())
    return Pieces(
        piece("embedding"),
        units,
        piece("head"),
        result["boundary"],
        result["persistent"] - held,
        resting,
        result["batch"],
        found,
    )


def _parameters(rows: list[list[Any]]) -> dict[Any, tuple[int, int]]:
    alone = {"embedding.word_embeddings.weight": "word_embedding", "output_layer.weight": "output_layer"}
    found: dict[Any, list[int]] = {name: [0, 0] for name in ("embedding", "head", *alone.values())}
    for name, count, _, is_expert in rows:
        if name in alone:
            found[alone[name]][0] += count
        if name.startswith("decoder.layers."):
            key: Any = int(name.split(".")[2])
        else:
            key = "embedding" if name.startswith("embedding.") else "head"
        found.setdefault(key, [0, 0])[is_expert] += count
    return {key: (dense, expert) for key, (dense, expert) in found.items()}


class Run(NamedTuple):
    """What a chunk keeps and needs, in bytes.

    Attributes:
        kept: between its forward and its backward pass.
        forward: the most during its forward pass, with what it keeps so far.
        backward: the most during its backward pass, with what it still keeps.
        flops: operations of both.
        seconds: of both, by a roofline.
    """

    kept: int
    forward: int
    backward: int
    flops: int
    seconds: float


def run_of(chunk: Chunk, recompute: dict[str, Any], plain: Pieces, whole: Pieces) -> Run:
    """One micro-batch through a chunk.

    Args:
        chunk: its layers.
        recompute: the recompute settings.
        plain: measured with these settings, or with recompute off where they are ``block``.
        whole: measured with every layer recomputed, for ``block``; else the same as ``plain``.
    """
    stack: list[Piece] = []
    mode = recomputed(recompute)
    if chunk.embedding:
        stack.append(plain.embedding)
    else:
        # The tensor received is kept as the first layer's input is, and its gradient takes its place.
        stack.append(Piece(plain.boundary, plain.boundary, 0, 0, 0))
    if mode == "block":
        count = int(recompute.get("recompute_num_layers") or 0)
        stack += [(whole if number < count else plain).units[(kind,)] for number, kind in enumerate(chunk.layers)]
    else:
        stack += [plain.units[unit] for unit in units_of(chunk.layers, recompute)]
    if chunk.loss:
        stack.append(plain.head)
    alive, forward = 0, 0
    for piece in stack:
        forward = max(forward, alive + piece.forward)
        alive += piece.kept
    # A stage's output is freed once it is sent (deallocate_output_tensor), and its gradient comes instead.
    kept = alive if chunk.loss else alive - plain.boundary
    backward = 0
    for piece in reversed(stack):
        backward = max(backward, alive + piece.backward)
        alive -= piece.kept
    return Run(kept, forward, backward, sum(piece.flops for piece in stack), sum(piece.seconds for piece in stack))


class Deferred(NamedTuple):
    """Gradients of the output layer's weight that are put off until the pipeline drains.

    Attributes:
        held: bytes that each put-off micro-batch holds: the output layer's input and the logits' gradient.
        limit: micro-batches at most; 0 is all of them.
    """

    held: int
    limit: int


def peak_of(
    runs: Sequence[Run],
    rank: int,
    pipeline: int,
    microbatches: int,
    group: int | None = None,
    deferred: Deferred | None = None,
) -> int:
    """The most bytes of activations alive on a rank over its schedule; ``runs`` are its chunks'."""
    alive, peak, held = 0, 0, 0
    for step in order(rank, pipeline, len(runs), microbatches, group):
        run = runs[step.chunk]
        if step.forward:
            peak = max(peak, alive + run.forward)
            alive += run.kept
        else:
            alive -= run.kept
            peak = max(peak, alive + run.backward)
            if deferred and step.chunk == len(runs) - 1 and (not deferred.limit or held < deferred.limit):
                held += 1
                alive += deferred.held
    return peak
