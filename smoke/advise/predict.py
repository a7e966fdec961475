"""From a site and options to a prediction: the function that the command, ``bench`` and a rule share. No torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...sources import facts as model_facts
from ...sources.errors import UsageError
from .. import filled, run, sizes
from ..request import GIB, Unavailable
from . import asked, places
from .choices import Choice, search
from .estimate import Estimator
from .gpus import GPUS, Gpu
from .recipe import fewest_ranks, recipe_of, refuse


class AdviseSite(NamedTuple):
    """A recompute configuration to advise on.

    Attributes:
        label: where it is, as ``path:line``.
        settings: what the recipe says, by names of fields or of Megatron-LM's arguments.
        is_open: whether the rest comes from a checkpoint and a framework's defaults.
        dialect: the framework.
    """

    label: str
    settings: Mapping[str, Any]
    is_open: bool = False
    dialect: str = ""


class AdviseOptions(NamedTuple):
    """How to predict.

    Attributes:
        memory: bytes that the device has; None is what ``gpu`` has.
        gpus: ranks of the whole run; None is what the recipe says, or one data-parallel replica.
        gpu: a name of :data:`.gpus.GPUS`.
        model: path of a Hugging Face ``config.json``.
        facts: what is known besides; goes before the recipe's own.
        mcore: folder or release of Megatron-Core.
        te: folder or release of Transformer Engine.
        imbalance: tokens of the fullest rank's experts over the balanced number.
        reserve: bytes to leave free.
        timeout: seconds for the child.
        memory_limit: bytes for the child.
        seconds: after which no further choices are measured.
        progress: told the stage.
    """

    memory: int | None = None
    gpus: int | None = None
    gpu: str = "h100"
    model: str | None = None
    facts: Mapping[str, Any] = {}
    mcore: str | None = None
    te: str | None = None
    imbalance: float = 1.0
    reserve: int = 0
    timeout: float = 120.0
    memory_limit: int = 4 * GIB
    seconds: float = 35.0
    progress: Callable[[str], None] = lambda stage: None


class Prediction(NamedTuple):
    """What was found.

    Attributes:
        site: of what.
        mcore: the release that was run.
        te: the release of Transformer Engine.
        gpu: the device.
        memory: bytes that there are.
        reserve: bytes to leave free.
        configured: as the recipe has it.
        choices: every choice, cheapest first, the configured one among them.
        notes: assumptions, and what is not modelled, one line each.
        ranks: of the run.
        microbatches: of an iteration.
    """

    site: AdviseSite
    mcore: str
    te: str
    gpu: Gpu
    memory: int
    reserve: int
    configured: Choice
    choices: list[Choice]
    notes: list[str]
    ranks: int
    microbatches: int

    def fits(self, choice: Choice) -> bool:
        """Whether a choice's fullest stage has room."""
        return choice.peak + self.reserve <= self.memory

    @property
    def cheapest(self) -> Choice | None:
        """The choice with the fewest operations that fits, the most frugal of equals."""
        return next((choice for choice in self.choices if self.fits(choice)), None)


class Setup(NamedTuple):
    """What a site is estimated with.

    Attributes:
        estimator: of the site.
        mcore: the Megatron-Core that is run.
        te: the Transformer Engine.
        values: the settings with model, facts and assumptions filled in.
        notes: assumptions, and what is not modelled, one line each.
    """

    estimator: Estimator
    mcore: places.Place
    te: places.Place
    values: dict[str, Any]
    notes: list[str]


#: What frameworks over a Hugging Face checkpoint train with, where the recipe doesn't say.
_OPEN: dict[str, Any] = {
    "add_bias_linear": False,
    "bf16": True,
    "gated_linear_unit": True,
    "activation_func": "silu",
    "attention_dropout": 0.0,
    "hidden_dropout": 0.0,
    "normalization": "RMSNorm",
    "position_embedding_type": "rope",
    "use_distributed_optimizer": True,
    "create_attention_mask": False,
}
_OPEN_MOE: dict[str, Any] = {"moe_grouped_gemm": True, "moe_token_dispatcher_type": "alltoall"}


#: Frameworks that leave each expert whole where nothing says otherwise, unlike Megatron-Core, which splits them as the
#: rest (ms-swift megatron/arguments/megatron_args.py#L619, Megatron-Bridge models/transformer_config.py#L87).
_EXPERTS_UNSPLIT = frozenset({"ms-swift", "megatron-bridge"})


def predict(site: AdviseSite, options: AdviseOptions, setup: Setup | None = None) -> Prediction:
    """Predict one site under its own settings and under every other choice.

    Args:
        site: what to predict.
        options: how.
        setup: what :func:`set_up` made of the two, if it is there.

    Raises:
        UsageError: a size is missing (named, with where it usually stands) or cannot be used.
        Unavailable: torch, Megatron-Core or Transformer Engine is not here.
        CannotMeasure: Megatron-Core refuses the model.
    """
    from ...schemas import choose

    gpu = GPUS[options.gpu]
    estimator, mcore, te, values, assumed = setup or set_up(site, options)
    notes = list(assumed)
    if te.why != "--te":
        notes.append(f"transformer-engine {te.version}: {te.why} (--te)")
    contract = choose.choose(mcore.folder or mcore.version, ".").contract
    known = {**contract.defaults, **{name: value for name, value in values.items() if name in contract.fields}}
    known = {name: value for name, value in known.items() if name not in sizes.RECOMPUTE_FIELDS}

    def is_valid(settings: dict[str, Any]) -> bool:
        return not contract.violations({**known, **settings})

    methods = ("uniform",) if site.dialect == "nemo-rl" else ("uniform", "block")
    configured, choices, left_out = search(
        estimator, contract.modules, is_valid, seconds=options.seconds, methods=methods
    )
    if left_out:
        notes.append(f"not measured, since the time was up: {left_out} combinations of modules")
    notes += _unread(estimator.unread, values, mcore.version)
    ranks = int(values.get("world_size") or 1)
    return Prediction(
        site,
        mcore.version,
        te.version,
        gpu,
        options.memory or gpu.memory,
        options.reserve,
        configured,
        choices,
        notes,
        ranks,
        estimator.recipe.microbatches,
    )


def fits_as_configured(setup: Setup, options: AdviseOptions) -> bool:
    """Whether the recipe's own recomputation has room, which takes a fraction of what :func:`predict` takes.

    Raises:
        CannotMeasure: Megatron-Core refuses the model.
    """
    stages = setup.estimator.estimate(setup.estimator.recipe.recompute)
    return max(stage.peak for stage in stages) + options.reserve <= (options.memory or setup.estimator.gpu.memory)


def set_up(site: AdviseSite, options: AdviseOptions) -> Setup:
    """Everything that estimates of a site need; nothing is measured yet.

    Raises:
        UsageError: a size is missing (named, with where it usually stands) or cannot be used.
        Unavailable: torch, Megatron-Core or Transformer Engine is not here.
    """
    mcore = places.megatron_core(options.mcore)
    te = places.transformer_engine(options.te, mcore)
    values, notes = complete(site, options)
    recipe = recipe_of(values, options.imbalance, fuses_unscale=places.fuses_unscale(te.folder or ""))
    notes += [f"not in the figures: {what}" for what in recipe.not_modelled]

    def measure(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
        request = {"job": "advise", "device": "cpu", "gpu": options.gpu, "te": te.folder, "models": models}
        outcome = run.run_child(
            request,
            timeout=options.timeout,
            memory_limit=options.memory_limit,
            mcore=mcore.folder,
            on_stage=options.progress,
        )
        rest = len(models) - len(outcome.rows)
        return outcome.rows + [{"reason": f"{outcome.stage}: {outcome.reason}", "frame": outcome.frame}] * rest

    return Setup(Estimator(recipe, GPUS[options.gpu], measure), mcore, te, values, notes)


def complete(site: AdviseSite, options: AdviseOptions) -> tuple[dict[str, Any], list[str]]:
    """The site's settings with model, facts and assumptions filled in, and a line for each assumption.

    Raises:
        UsageError: the model's config can't be read, or sizes are missing.
    """
    values: dict[str, Any] = {}
    model: dict[str, Any] = {}
    notes: list[str] = []
    if options.model:
        model = filled.from_hugging_face(options.model)
        # Hugging Face's classes of decoders untie them unless the file says so.
        config = model_facts.config_of(options.model)
        model["untie_embeddings_and_output_weights"] = not config.get("tie_word_embeddings")
        notes += asked.parts_left_out(config, options.model)
    for source in (model, site.settings, options.facts):
        values.update({name: value for name, value in source.items() if value is not None or name == "q_lora_rank"})
    for name in ("optimizer", "distributed_data_parallel_config"):
        nested = values.pop(name, None)
        if isinstance(nested, Mapping):
            for key, value in nested.items():
                values.setdefault({"optimizer": "optimizer_name"}.get(key, key), value)
        elif nested is not None:
            values[name] = nested
    if "max_length" in values and site.dialect == "ms-swift":
        values.setdefault("seq_length", values["max_length"])
    for name, value in asked.of_slime(values).items():
        values.setdefault(name, value)
    if site.is_open:
        supplied = {**_OPEN, **(_OPEN_MOE if values.get("num_moe_experts") else {})}
        taken = {name: value for name, value in supplied.items() if values.get(name) is None}
        values.update(taken)
        if taken:
            stated = ", ".join(f"{name}={value}" for name, value in taken.items())
            notes.append(f"assumed, as frameworks over a checkpoint have it: {stated}")
    refuse(values)
    if asked.adapters(site.dialect, values):
        raise UsageError(
            f"{site.label}: training of adapters (LoRA) cannot be predicted: what is frozen has no gradients and no "
            "optimizer state"
        )
    wanted = asked.missing(site.dialect, values)
    if wanted:
        lines = "".join(f"\n  {name}: {where}" for name, where in wanted.items())
        raise UsageError(f"{site.label}: what is not known must be said with --facts NAME=VALUE or --model:{lines}")
    if values.get("micro_batch_size") is None:
        values["micro_batch_size"] = 1
        notes.append("assumed: micro_batch_size=1")
    if site.dialect in _EXPERTS_UNSPLIT and int(values.get("expert_model_parallel_size") or 1) > 1:
        values.setdefault("expert_tensor_parallel_size", 1)
    if site.dialect == "megatron-bridge" and values.get("optimizer_cpu_offload"):
        # its OptimizerConfig is Megatron-Core's (optimizer/optimizer_config.py), and not Megatron-LM's flags
        values.setdefault("optimizer_offload_fraction", 0.0)
    if options.gpus:
        values["world_size"] = options.gpus
        values.pop("data_parallel_size", None)
    pipeline = int(values.get("pipeline_model_parallel_size") or 1)
    if site.is_open and pipeline > 1 and not (values.get("global_batch_size") or values.get("num_microbatches")):
        # Megatron-LM's own default is one micro-batch (megatron/training/arguments.py), which no framework trains with.
        values["num_microbatches"] = 2 * pipeline * int(values.get("virtual_pipeline_model_parallel_size") or 1)
        notes.append(f"assumed: num_microbatches={values['num_microbatches']}, which fill the pipeline")
    if not values.get("world_size"):
        values["world_size"] = fewest_ranks(values)
        notes.append(f"assumed: {values['world_size']} GPUs, as few as the recipe's parallelism takes (--gpus N)")
    if str(values.get("moe_token_dispatcher_type")) == "flex":
        notes.append("the flex dispatcher is predicted as alltoall: its buffers are not in the figures")
    if values.get("deterministic_mode") and GPUS[options.gpu].capability[0] != _HOPPER:
        # attention/dot_product_attention/utils.py, get_attention_backend: fused attention is off then.
        notes.append(
            "deterministic_mode: predicted with FlashAttention 2.4.1 or later; without it Transformer Engine's "
            "attention is not fused on this GPU, and keeps its scores"
        )
    return values, notes


#: The architecture on which Transformer Engine's fused attention is deterministic.
_HOPPER = 9

#: Names in the note of those that Megatron-Core does not read; a framework's own defaults may be dozens.
_NAMED = 8


def _unread(names: list[str], values: Mapping[str, Any], release: str) -> list[str]:
    """A line about settings that have to do with memory, are on, and are not read; none where there are none."""
    told = [name for name in relevant(names) if values.get(name) not in (None, False, 0, "", "none", [], {})]
    if not told:
        return []
    rest = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return [f"not read by Megatron-Core {release}: {', '.join(told[:_NAMED])}{rest}"]


#: Parts of names that have to do with memory; what is about data, logging or checkpoints is not worth a word.
_TELLING = (
    "fp8", "fp4", "bf16", "fp16", "parallel", "layers", "hidden", "ffn", "expert", "moe", "recompute", "offload",
    "precision", "fsdp", "lora", "dispatcher", "mtp", "mamba", "hybrid", "attention", "norm", "swiglu", "bias",
    "vocab", "checkpoint_activations", "embedding", "pipeline",
)  # fmt: skip


def relevant(names: list[str]) -> list[str]:
    """Those of some settings' names that have to do with memory."""
    return [name for name in names if any(part in name for part in _TELLING)]


__all__ = [
    "AdviseOptions",
    "AdviseSite",
    "Prediction",
    "Setup",
    "Unavailable",
    "fits_as_configured",
    "predict",
    "relevant",
    "set_up",
]
