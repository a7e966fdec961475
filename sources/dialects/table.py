"""The frameworks whose settings are understood: a row for each, with which files and commands may be its own.

What a row says beside that is what rules ask of a site's framework, so that no rule has to know one by its name.
"""

from typing import NamedTuple

from ...schemas.names import FLAGS
from .. import keys
from ..model import Site

#: The ``_checkpointed_forward`` of layers, and of those for multi-token prediction.
CHUNKS = "chunks"
#: The transformer block of some models.
BLOCKS = "blocks"


class Dialect(NamedTuple):
    """A row of the table: what the framework is called, and which files and commands may be its own."""

    name: str
    module: str
    #: Files without any of these byte strings are skipped; they are searched for before anything is parsed.
    needles: tuple[bytes, ...]
    #: Needles that files of others have, too, each with what must be in the file besides.
    shared_needles: tuple[tuple[bytes, bytes], ...] = ()
    #: The kind of file, as :func:`~recompute_lint.sources.files.kind_of` names it, or several of them.
    kind: str = "yaml"
    #: Whether a file that is this dialect's may be another's besides.
    beside: bool = False
    #: Whether a file of this kind may be JSON, too.
    json: bool = False
    #: Which overrides (``a.b.key=value``) make a site of it: a regular expression for the dotted key, whose first group
    #: is the path of the site.
    overrides: str = ""
    #: Which commands take their flags as it does: a regular expression for the command's words, joined by blanks.
    program: str = ""
    #: Whether a word ``name=value`` of a command is a flag, too.
    dashless: bool = False
    #: A flag about recomputation that has a short name, too: that, and the flag.
    short: tuple[str, str] = ("", "")
    #: An override that makes a site of some commands only: the last part of its key, and what one of their words is.
    conditional: tuple[str, str] = ("", "")
    #: Whether Hydra is known to apply the overrides, for which one with several values is a sweep.
    hydra: bool = True
    #: What happens to a key that it does not know, where that is certain, as the end of a message.
    unknown_key: str = ""
    #: The same of a key in a mapping that it merges over the site's.
    unknown_merged_key: str = ""
    #: Whether it reads NeMo 1's names for the settings, ``activations_checkpoint_*``.
    reads_old_names: bool = False
    #: What is written for a granularity of nothing.
    nothing: str = "null"
    #: Whether it has a number of layers by default, which ``selective`` does not go with.
    has_default_layers: bool = False
    #: Whether a list in its commands has to be written as Python has it, with quotes that the shell leaves.
    has_python_lists: bool = False
    #: Whether its training captures layers in CUDA graphs of Transformer Engine's (TECudaGraphHelper: Megatron-LM
    #: megatron/training/training.py, Megatron-Bridge src/megatron/bridge/training/train.py); others never capture any.
    captures_layers: bool = False
    #: What of Megatron-Core's recomputation it has code of its own for: :data:`CHUNKS`, or :data:`BLOCKS`.
    replaces: str = ""


#: What every recompute key has in it, or is, with underscores or with dashes; and the end of the one that most often
#: stands alone, which may be misspelled.
_RECOMPUTE = tuple(
    dict.fromkeys(
        name.replace("_", mark).encode()
        for name in (keys.WORD, *keys.WORDLESS, "_granularity", "_egranularity")
        for mark in "_-"
    )
)
_OVERRIDES = (b"activation_checkpointing", b"activations_checkpoint_")

#: The kinds of files that hold others.
_HOLDING = "yaml python script dockerfile justfile markdown notebook template toml"

#: What every field of ``TransformerConfig`` that a Python file may name has in it, or is.
_FIELDS = tuple(name.encode() for name in (f"{keys.WORD}_", *keys.WORDLESS, "_granularity") if name not in FLAGS)

#: The last part of an override's key.
_KEY = rf"\w*recompute\w*|{keys.NEARLY}|distribute_saved_activations"

#: Asked in this order; the first that recognizes a file, an override or a command reads it.
DIALECTS = (
    Dialect("embedded", "embedded", (*_RECOMPUTE, *_OVERRIDES), kind=_HOLDING, beside=True, json=True),
    Dialect(
        "nemo-rl",
        "nemo_rl",
        (b"megatron_cfg", b"defaults:", b'defaults":', b"defaults':"),
        overrides=rf"((?:.*\.)?megatron_cfg)\.(?:.*\.)?(?:{_KEY}|activation_check\w*)",
        unknown_key=": it is ignored",
        unknown_merged_key=" in model_overrides: NeMo-RL rejects it",
    ),
    Dialect(
        "primus",
        "primus",
        (*_RECOMPUTE, b"framework: megatron", b"extends:"),
        program="primus",
        dashless=True,
        has_python_lists=True,
        captures_layers=True,
    ),
    Dialect(
        "roll",
        "roll",
        (*_RECOMPUTE, b"defaults:"),
        overrides=rf"((?:.*\.)?strategy_config)\.(?:{_KEY})",
        hydra=False,
    ),
    Dialect(
        "verl",
        "verl",
        (*_RECOMPUTE, b"defaults:"),
        overrides=rf"((?:.*\.)?override_transformer_config(?!\.{keys.OTHER_ENGINES}$)"
        rf"|actor_rollout_ref\.(?:actor|ref)\.megatron(?!\.{keys.OTHER_ENGINES}$)"
        rf"|actor_rollout_ref\.model(?=\.{keys.OTHER_ENGINES}$))\.(?:{_KEY}|{keys.OTHER_ENGINES})",
        # Its Megatron engine does not read that switch in every release, and the engine is what the command says.
        conditional=(
            keys.OTHER_ENGINES,
            r"^[+]*model_engine=megatron$|\b(?:fully_async|transfer_queue)\w*_megatron_trainer\b",
        ),
    ),
    Dialect(
        "ms-swift",
        "ms_swift",
        _RECOMPUTE,
        json=True,
        program=r"(?<![^\s/])(?:megatron|swift) (?:sft|pt|rlhf|grpo|dpo|kto|rm|gkd|export)(?!\S)",
        nothing="none",
        # It trains models of mcore-bridge, which stops the last chunk at the end of the stage (modelscope/mcore-bridge,
        # pull request 92).
        replaces=CHUNKS,
    ),
    Dialect(
        "areal",
        "areal",
        (*_RECOMPUTE, b"defaults:"),
        overrides=rf"((?:.*\.)?megatron)\.(?:{_KEY})",
        has_default_layers=True,
    ),
    Dialect("rlinf", "rlinf", _RECOMPUTE, overrides=rf"((?:actor|critic)\.model)\.(?:{_KEY})"),
    Dialect(
        "skyrl",
        "skyrl",
        _RECOMPUTE,
        overrides=rf"((?:.*\.)?transformer_config_kwargs)\.(?:{_KEY})",
        hydra=False,
        has_default_layers=True,
    ),
    Dialect("chatlearn", "chatlearn", _RECOMPUTE, overrides=rf"(models\.policy_trainer)\.(?:{_KEY})", hydra=False),
    Dialect("flagscale", "flagscale", _RECOMPUTE, overrides=rf"(train\.(?:system|model))\.(?:.*\.)?(?:{_KEY})"),
    Dialect(
        "mindspeed-rl",
        "mindspeed_rl",
        _RECOMPUTE,
        overrides=rf"(megatron_training|(?:actor|critic|ref|reward)_config)\.(?:{_KEY})",
    ),
    Dialect("mindspeed-mm", "mindspeed_mm", _RECOMPUTE, json=True),
    Dialect(
        "nemo",
        "nemo",
        (b"activations_checkpoint_", b"_granularity", b"defaults:"),
        overrides=r"(.+)\.activations_checkpoint_\w+",
        unknown_key=": it is ignored",
        unknown_merged_key=": it is ignored",
        reads_old_names=True,
        replaces=BLOCKS,  # its T5 models have a transformer of their own, and 0 layers to recompute in every recipe
    ),
    Dialect(
        "megatron-bridge",
        "megatron_bridge",
        _RECOMPUTE,
        overrides=rf"(.+)\.(?:{_KEY})",
        program=r"(?<![^\s/])(?:setup_experiment|performance/run_script)\.py(?!\S)",
        short=("-rl", "recompute_num_layers"),
        hydra=False,
        captures_layers=True,
    ),
    Dialect("megatron-lm", "megatron_lm", _RECOMPUTE, program=r".*", captures_layers=True),
    Dialect(
        "transformer-config",
        "transformer_config",
        _RECOMPUTE,
        unknown_key=": TransformerConfig rejects it",
        unknown_merged_key=": TransformerConfig rejects it",
        captures_layers=True,
    ),
    Dialect("generic", "generic", (*_RECOMPUTE, b"megatron_c"), json=True),
    Dialect(
        "launch-script",
        "launch_script",
        (
            *(*_RECOMPUTE, *_OVERRIDES, b"activations-checkpoint-"),
            *(b"setup_experiment.py", b"performance/run_script"),
        ),
        shared_needles=((keys.OTHER_ENGINES.encode(), b"megatron"),),  # verl's switch, which most of its scripts have
        kind="script",
    ),
    Dialect("python-flags", "python_flags", (*_RECOMPUTE, b"activations_checkpoint_"), kind="python", beside=True),
    Dialect(
        "python",
        "python_literals",
        (*_FIELDS, b"activations_checkpoint_", f"--{keys.WORD}-".encode()),
        kind="python",
        nothing="None",
        captures_layers=True,
    ),
)

NAMES = tuple(dialect.name for dialect in DIALECTS)
#: What a word of a command is in which an override makes a site, by the last part of its key.
CONDITIONAL = dict(row.conditional for row in DIALECTS if row.conditional[0])


def row_of(site: Site) -> Dialect:
    """The row of the framework that a site belongs to."""
    return next(row for row in DIALECTS if row.name == site.dialect)
