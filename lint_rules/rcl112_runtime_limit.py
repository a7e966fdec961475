"""A configuration that passes every check and then fails, or is skipped, while training.

What it does
    Reports, from a table with the releases and the frameworks concerned:

    * ``uniform`` with a ``recompute_num_layers`` that does not divide the layers of each pipeline stage: IndexError in
      the first forward step (before 0.17). Where ``num_layers`` leaves a remainder, some stage does, however the layers
      are spread.
    * Multi-token prediction beside full recomputation: with ``uniform`` and a ``recompute_num_layers`` other than 1
      AssertionError in the first forward step (from 0.14 on), and with packed sequences (``--sft``) TypeError in 0.16
      and 0.17; with ``block`` NameError (0.14 and 0.15), and later its layers are not recomputed, which is a warning;
      in 0.18 TypeError whatever the method.
    * ``uniform`` with a ``recompute_num_layers`` of 0 or less: the first forward step never ends.
    * ``uniform`` with one chunk as long as the model, without pipeline stages, and ``block`` with 0 layers: nothing is
      saved, which is a warning.
    * ``mlp`` in the list of a model whose linear layers have biases: endless recursion in the first backward step (from
      0.12 on, in BF16, FP16 and FP32).
    * ``core_attn``, ``mlp``, ``moe`` or ``shared_experts`` inside a CUDA graph: RuntimeError while it is captured (0.16
      and 0.17; from 0.18 on RCL203).

    Only where the numbers are known: from the file itself, where absent fields have Megatron-Core's defaults, or from
    ``--facts`` and ``--model``; and not for a framework that replaces the code in question, as ms-swift does.

Why is this bad
    The job dies after everything has been loaded, or needs memory that the setting was meant to save.

Use instead
    What the help line says.

Options
    ``--facts num_layers=32`` and ``--model PATH``: what is known of the model besides the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from ..schemas.contract import Contract
from ..sources.model import Site, Span
from .finding import Example, Finding
from .graph_capture import FIELDS as GRAPH_FIELDS
from .graph_capture import captured
from .pipeline_stages import Share, shares, whole
from .remedies import assign, to_selective, without
from .runtime_facts import FACTS, Fact, fact
from .wording import at, involved, item_span, shown

_MODEL = "num_layers: 10\nhidden_size: 64\nnum_attention_heads: 4\n"
_UNIFORM = f"{_MODEL}recompute_granularity: full\nrecompute_method: uniform\n"
_BLOCK = f"{_MODEL}recompute_granularity: full\nrecompute_method: block\n"
_SELECTIVE = f"{_MODEL}recompute_granularity: selective\n"
_GRAPHS = "hidden_dropout: 0.0\ncuda_graph_impl: transformer_engine\ncuda_graph_scope: [mlp]\n"


def cited(newest: Contract) -> list[str]:
    """The files that the facts are from; lines differ from one release to another."""
    return [row.source.partition("#")[0] for row in FACTS.values()]


VALID = (
    Example(f"{_UNIFORM}recompute_num_layers: 5\n", options={"mcore": "0.16.1"}),
    Example(f"{_UNIFORM}recompute_num_layers: 1\nmtp_num_layers: 1\n", options={"mcore": "0.16.1"}),
    Example(f"{_UNIFORM}recompute_num_layers: 4\n", options={"mcore": "0.17.0"}),
    Example(
        f"{_UNIFORM}recompute_num_layers: 2\npipeline_model_parallel_size: 2\nnum_layers_in_first_pipeline_stage: 4\n",
        options={"mcore": "0.16.1"},
    ),
    Example(f"{_SELECTIVE}add_bias_linear: false\nrecompute_modules: [mlp]\n", options={"mcore": "0.16.1"}),
    Example(
        "megatron sft --mtp_num_layers 1 --recompute_granularity full --recompute_method uniform "
        "--recompute_num_layers 1\n",
        filename="run.sh",
        options={"mcore": "0.18.2"},
    ),
)
INVALID = (
    Example(f"{_UNIFORM}recompute_num_layers: 10\n", (6,)),
    Example(f"{_BLOCK}recompute_num_layers: 0\n", (6,)),
    Example(
        f"{_UNIFORM}recompute_num_layers: 4\npipeline_model_parallel_size: ${{oc.env:PP}}\n",
        (6,),
        options={"mcore": "0.16.1"},
    ),
    Example(
        f"{_UNIFORM}recompute_num_layers: 2\npipeline_model_parallel_size: 3\nnum_layers_in_last_pipeline_stage: 1\n",
        (6,),
        options={"mcore": "0.16.1"},
    ),
    Example(
        f"{_SELECTIVE}add_bias_linear: false\n{_GRAPHS}recompute_modules: [mlp]\n", (9,), options={"mcore": "0.17.1"}
    ),
    Example(f"{_UNIFORM}recompute_num_layers: 4\n", (6,), options={"mcore": "0.16.1"}),
    Example(f"{_UNIFORM}recompute_num_layers: 0\n", (6,)),
    Example(f"{_UNIFORM}recompute_num_layers: 2\nmtp_num_layers: 1\n", (6,), options={"mcore": "0.16.1"}),
    Example(
        f"{_MODEL}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 1\nmtp_num_layers: 1\n",
        (5,),
        options={"mcore": "0.16.1"},
    ),
    Example(f"{_UNIFORM}recompute_num_layers: 1\nmtp_num_layers: 1\n", (4,), options={"mcore": "0.18.2"}),
    Example(f"{_SELECTIVE}recompute_modules: [mlp]\n", (5,), options={"mcore": "0.16.1"}),
)


def check(site: Site, contract: Contract) -> Iterator[Finding]:
    """At most one finding for each line of the table."""
    granularity = site.value("recompute_granularity")
    if granularity == "full":
        yield from _chunks(site, contract)
        yield from _prediction_layers(site, contract)
    elif granularity == "selective":
        yield from _returned_bias(site, contract)
        yield from _captured(site, contract)


def _finding(row: Fact, message: str, span: Span, help: str, settings: tuple[str, ...], site: Site) -> Finding:
    return Finding("RCL112", message, span, row.note, help, involved(site, settings), severity=row.severity)


# ---- full


def _chunks(site: Site, contract: Contract) -> Iterator[Finding]:
    size, method = site.value("recompute_num_layers"), site.value("recompute_method")
    if type(size) is not int or method not in ("uniform", "block"):
        return
    span = at(site, "recompute_num_layers")
    settings = ("recompute_num_layers", "recompute_method", "num_layers", "pipeline_model_parallel_size")
    if size < 1:
        row = fact("empty-chunks" if method == "uniform" else "empty-block", site, contract)
        if row is not None:
            fails = "must be at least 1; with {} the first forward step never ends"
            saves = 'is {}: with recompute_method "block" no layer is recomputed'
            message = f"recompute_num_layers {(fails if method == 'uniform' else saves).format(size)}"
            help = assign(site, "recompute_num_layers", 1)
            if method == "block":
                help = f"{help}, or {without(site, [])}"
            yield _finding(row, message, span, help, settings[:2], site)
        return
    if method == "block" or size == 1:
        return
    known = shares(site, contract)
    row = fact("uneven-chunks", site, contract)
    odd = next((share for share in known if share.layers % size), None)
    if row is not None and odd is not None:
        message = f"recompute_num_layers is {size}, which does not divide {odd.words}: the last chunk runs past the end"
        if not odd.is_block and odd is known[-1]:
            message = f"{message} of a pipeline stage"
        yield _finding(
            row, message, span, assign(site, "recompute_num_layers", _divisor(site, known, size)), settings, site
        )
        return
    row = fact("one-chunk", site, contract)
    if row is not None and known and known[-1].is_block and size >= known[-1].layers > 1:
        message = (
            f"recompute_num_layers is {size} of {known[-1].words}: one chunk, whose backward step needs as much memory "
            "as without recomputation"
        )
        yield _finding(row, message, span, assign(site, "recompute_num_layers", 1), settings, site)


def _divisor(site: Site, known: list[Share], size: int) -> int:
    """The number of layers nearest to a size that divides every part; 1 where not every part is known."""
    if not known[0].is_block or site.value("mtp_num_layers") not in (None, 0):
        return 1
    common = gcd(*(share.layers for share in known))
    divisors = [number for number in range(1, common) if common % number == 0]
    return min(divisors, key=lambda number: abs(number - size), default=1)


def _prediction_layers(site: Site, contract: Contract) -> Iterator[Finding]:
    if not whole(site.value("mtp_num_layers")):
        return
    method, size = site.value("recompute_method"), site.value("recompute_num_layers")
    named = "multi-token prediction (mtp_num_layers)"
    one = f"{assign(site, 'recompute_method', 'uniform')} and {assign(site, 'recompute_num_layers', 1)}"
    if (row := fact("prediction-mask", site, contract)) is not None:
        message = f"full recomputation fails with {named} in megatron-core 0.18"
        help = f"{to_selective(site)}, or use another release than 0.18"
        settings = ("recompute_granularity", "mtp_num_layers")
        yield _finding(row, message, at(site, "recompute_granularity"), help, settings, site)
    elif method == "block" and (row := fact("prediction-block-fails", site, contract)) is not None:
        message = f'recompute_method "block" fails with {named} before megatron-core 0.16'
        yield _finding(row, message, at(site, "recompute_method"), one, ("recompute_method", "mtp_num_layers"), site)
    elif method == "block" and (row := fact("prediction-block-skips", site, contract)) is not None:
        message = f'recompute_method "block" does not recompute the layers of {named}'
        settings = ("recompute_method", "mtp_num_layers")
        yield _finding(row, message, at(site, "recompute_method"), f"to recompute them too, {one}", settings, site)
    elif method == "uniform" and whole(size) and size != 1:
        row = fact("prediction-uniform", site, contract)
        if row is not None:
            message = f"recompute_num_layers is {size}, but must be 1 with {named}"
            help = assign(site, "recompute_num_layers", 1)
            settings = ("recompute_num_layers", "mtp_num_layers")
            yield _finding(row, message, at(site, "recompute_num_layers"), help, settings, site)
    elif method == "uniform" and site.value("sft") is True:
        row = fact("prediction-packed", site, contract)
        if row is not None:
            message = f"full recomputation fails with {named} and packed sequences (sft)"
            settings = ("recompute_granularity", "mtp_num_layers", "sft")
            help = f"{to_selective(site)}, or use megatron-core 0.19"
            yield _finding(row, message, at(site, "recompute_granularity"), help, settings, site)


# ---- selective


def _returned_bias(site: Site, contract: Contract) -> Iterator[Finding]:
    modules, row = site.value("recompute_modules"), fact("returned-bias", site, contract)
    if row is None or not isinstance(modules, list) or "mlp" not in modules:
        return
    if site.value("add_bias_linear") is not True or any(site.value(name) is not None for name in ("fp8", "fp4")):
        return
    if site.value("num_moe_experts") is not None and site.value("moe_layer_freq") == 1:
        return  # no layer has a dense MLP
    default = "" if "add_bias_linear" in site.effective else " (the default)"
    message = f'"mlp" cannot be recomputed while add_bias_linear is true{default}: backward recurses without end'
    flag = "add --disable-bias-linear" if site.spelling == "-" else assign(site, "add_bias_linear", False)
    help = f"{flag}, or {without(site, ['mlp'])}"
    yield _finding(row, message, _item(site, "mlp"), help, ("recompute_modules", "add_bias_linear"), site)


def _captured(site: Site, contract: Contract) -> Iterator[Finding]:
    modules, row = site.value("recompute_modules"), fact("captured-fails", site, contract)
    if row is None or not isinstance(modules, list) or site.origin("recompute_modules") is None:
        return
    inside = captured(site, contract)
    rejected = {item for guard in contract.violations(site.known()) for item in guard.items}
    found = [name for name in modules if isinstance(name, str) and name in inside - rejected]
    for name in found:
        yield _finding(
            row,
            f"{shown(name)} cannot be recomputed inside a CUDA graph",
            _item(site, name),
            without(site, found),
            ("recompute_modules", *GRAPH_FIELDS),
            site,
        )


def _item(site: Site, module: str) -> Span:
    setting = site.origin("recompute_modules")
    modules = site.value("recompute_modules")
    return item_span(setting, modules.index(module)) if setting else site.anchor
