"""Command-line flags as Megatron-LM's argument parser takes them, made into settings.

Facts from NVIDIA/Megatron-LM at d98e8a64ddf3, ``megatron/training/arguments.py``: the parser is made with
``allow_abbrev=False`` (L117-L120), flags are spelled with dashes, those of ``TransformerConfig`` are generated from its
fields (``argument_utils.py``, ArgumentGroupFactory): a boolean takes no value, a ``list`` takes one or more words.
Frameworks over it also spell them with underscores (Primus, ms-swift); here a name always has underscores.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...schemas.names import VALUES
from ..keys import RECOMPUTE_FLAGS, SCALARS, WORD, is_nearly
from ..model import UNKNOWN, Setting, Span


class Word(NamedTuple):
    """One word of a command line."""

    #: None when only a run can tell it.
    text: str | None
    span: Span
    #: Whether it comes out of a variable.
    computed: bool = False
    #: The word with a NUL for each part that is unknown, where some of it is known.
    shape: str = ""
    #: Where its characters from one offset to another stand, for a word that is not all of a piece.
    cut: Callable[[int, int | None], Span] | None = None

    def part(self, start: int, end: int | None = None) -> Span:
        """Where the characters ``start`` to ``end`` stand."""
        if self.cut is not None:
            return self.cut(start, end)
        span, length = self.span, len(self.text or "")
        if span.line != span.end_line or span.end_column - span.column != length:
            return span
        last = length if end is None else end
        return span._replace(column=span.column + start, end_column=span.column + last)

    def is_literal(self) -> bool:
        """Whether it stands somewhere as it is: without quotes in it, and in one place, which may be a variable's."""
        span = self.span
        return self.text is not None and (span.line, span.column + len(self.text)) == (span.end_line, span.end_column)


class Flag(NamedTuple):
    """A flag with the words that follow it."""

    name: str
    key: Span
    values: tuple[Word, ...]


#: Flags that take any number of words.
LISTS = frozenset({"cuda_graph_modules", "cuda_graph_scope", "offload_modules", "recompute_modules"})

#: Flags without a value, as far as they stand beside recompute flags in launch scripts: a word that is unknown behind
#: one of these is no value of it. (arguments.py, ``action='store_true'`` and ``'store_false'``, and the boolean fields
#: of TransformerConfig and ModelParallelConfig.)
SWITCHES = frozenset(
    {
        "accumulate_allreduce_grads_in_fp32",
        "add_qkv_bias",
        "apply_layernorm_1p",
        "attention_softmax_in_fp32",
        "bf16",
        "calculate_per_token_loss",
        "check_for_large_grads",
        "ckpt_fully_parallel_save",
        "checkpoint_activations",
        "cpu_offloading",
        "cross_entropy_loss_fusion",
        "delay_wgrad_compute",
        "deterministic_mode",
        "disable_bias_linear",
        "distribute_saved_activations",
        "enable_cuda_graph",
        "enable_experimental",
        "enable_mhc_connections",
        "eod_mask_loss",
        "external_cuda_graph",
        "fine_grained_activation_offloading",
        "fp16",
        "fp8_param_gather",
        "group_query_attention",
        "init_model_with_meta_device",
        "manual_gc",
        "mock_data",
        "moe_enable_deepep",
        "moe_grouped_gemm",
        "moe_layer_recompute",
        "moe_permute_fusion",
        "moe_router_pre_softmax",
        "moe_shared_expert_overlap",
        "moe_use_upcycling",
        "multi_latent_attention",
        "no_bias_dropout_fusion",
        "no_bias_gelu_fusion",
        "no_bias_swiglu_fusion",
        "no_check_for_nan_in_loss_and_grad",
        "no_create_attention_mask_in_dataloader",
        "no_gradient_accumulation_fusion",
        "no_load_optim",
        "no_load_rng",
        "no_masked_softmax_fusion",
        "no_mmap_bin_files",
        "no_persist_layer_norm",
        "no_position_embedding",
        "no_rope_fusion",
        "no_save_optim",
        "no_save_rng",
        "overlap_grad_reduce",
        "overlap_moe_expert_parallel_comm",
        "overlap_param_gather",
        "qk_layernorm",
        "quick_geglu",
        "recompute_activations",
        "reset_attention_mask",
        "reset_position_ids",
        "sequence_parallel",
        "sft",
        "squared_relu",
        "swiglu",
        "tp_comm_overlap",
        "untie_embeddings_and_output_weights",
        "use_checkpoint_args",
        "use_distributed_optimizer",
        "use_dist_ckpt",
        "use_flash_attn",
        "use_mcore_models",
        "use_precision_aware_optimizer",
        "use_rope_scaling",
        "use_rotary_position_embeddings",
    }
)

#: What people write behind a switch that takes no value.
BOOLEANS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}

#: Flags that Megatron-LM gave up for those of today in April 2022 (cfd2e216).
REMOVED = {
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
}

#: Flags that always take one.
_VALUED = SCALARS

#: Options of other programs, and of frameworks for other things, whose names hold the word (slime
#: slime/utils/arguments.py#L239).
_OTHERS = re.compile(r"precompute|recompute_(?:vision|old|log|logprob|loss)|rl_kv_cache")

#: Variables that are named so hold flags and not the value of one.
HOLDS_FLAGS = re.compile(
    r"(?:^@$|ARGS?|OPTS?|OPTIONS?|FLAGS?|PARAMS?|EXTRA|CMD|COMMAND|OVERRIDES?)(?:_|$|\d)|args|opt", re.I
)

_NUMBER = re.compile(r"[+-]?\d+(?:_\d+)*$|[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?$")
#: What is longer is no number that anybody means; Python refuses to read one of thousands of digits.
_LONGEST_NUMBER = 100
#: No command that somebody wrote gives a setting more often.
_LONGEST_CHAIN = 50
_FLAG = re.compile(r"--([A-Za-z][\w.-]*)(=?)")
#: What stands before a flag where it is copied from a document or a chat: one dash, or others.
DASHES = r"[-\u2010-\u2015\u2212]{1,2}"
#: A flag about recomputation with such dashes, or with a colon behind it, as YAML has it.
_ODD_FLAG = re.compile(rf"(?!--\w)({DASHES}){WORD}[-_]\w[\w-]*|--{WORD}[-_]\w[\w-]*(?=:$)")


def is_recompute(name: str) -> bool:
    """Whether a flag or an override of this name makes its command a site."""
    # a misspelling of one of them has the word in it, or the rest
    return name in RECOMPUTE_FLAGS or (WORD in name and not _OTHERS.search(name)) or is_nearly(name)


class Line(NamedTuple):
    """A command line, taken apart."""

    flags: tuple[Flag, ...]
    #: The words that belong to no flag.
    others: tuple[Word, ...]
    #: Whether every flag is there to be seen: no word among them is unknown that could be one.
    complete: bool
    #: What :func:`text_of` says of every word.
    texts: tuple[str, ...] = ()
    #: What flags could come from where it is not complete: names of variables, empty for what has none.
    hidden: tuple[str, ...] = ()


def parse_flags(words: Iterable[tuple[Word, str]], *, start: int = 0) -> Line:
    """Sort the words of a command into flags and what is none.

    Args:
        words: each with the name of the variable that it comes from whole, if it does.
        start: the first word that matters for whether the line is complete.
    """
    sorter = _Sorter()
    texts = []
    for index, (word, variable) in enumerate(words):
        texts.append(text_of(word))
        if word.text is not None:
            sorter.add(word, word.text)
        elif word.shape.strip("\0"):
            sorter.add_partly_known(word)
        else:
            sorter.add_unknown(word, variable, matters=index >= start)
    made = tuple(Flag(name, key, tuple(values)) for name, key, values in sorter.flags)
    return Line(made, tuple(sorter.others), sorter.complete, tuple(texts), tuple(sorter.hidden))


class _Sorter:
    """A command line while its words are sorted; the attributes are those of :class:`Line`."""

    def __init__(self) -> None:
        self.flags: list[tuple[str, Span, list[Word]]] = []
        self.others: list[Word] = []
        self.complete = True
        self.hidden: list[str] = []
        #: The values of the last flag while it takes words; None where no flag does.
        self._values: list[Word] | None = None

    def add(self, word: Word, text: str) -> None:
        """Sort in a word that is known."""
        match = _FLAG.match(text) if text.startswith("--") else None
        values: list[Word] = []
        if match is None or not (match[2] or match.end() == len(text)):
            name = _odd_name(text) if WORD in text else ""
            if name:
                self.flags.append((name, word.part(len(text) - len(name)), values))
                self._values = values
            else:
                self._take(word)
            return
        self.flags.append((match[1].replace("-", "_"), word.part(2, match.end(1)), values))
        self._values = values
        if match[2]:
            at = match.end()
            values.append(Word(text[at:], word.part(at), word.computed))
            self._values = None

    def add_partly_known(self, word: Word) -> None:
        """Sort in a file below a folder that is not known, or a flag with such a value: what holds no flags."""
        match = _FLAG.match(word.shape)
        if match is None or not match[2]:
            self._take(word)
            return
        self.flags.append((match[1].replace("-", "_"), word.span, [Word(None, word.span, word.computed)]))
        self._values = None

    def add_unknown(self, word: Word, variable: str, *, matters: bool) -> None:
        """Sort in what a variable or a command stands for: a flag's value, or any number of flags."""
        values = self._values
        name = "" if values is None else self.flags[-1][0]
        if values == [] and name not in SWITCHES and not HOLDS_FLAGS.search(variable):
            values.append(word)
            return
        if matters:
            self.complete = False
            if variable or values is None or len(values) < 2:  # else it is another value, such as $(seq 8)
                self.hidden.append(variable)
        if values and name in LISTS and not HOLDS_FLAGS.search(variable):  # it may be an item of the list
            values.append(word)
        else:
            self._values = None

    def _take(self, word: Word) -> None:
        """Give a word to the flag that takes one, or to none."""
        (self.others if self._values is None else self._values).append(word)


def _odd_name(text: str) -> str:
    """A flag about recomputation that is written wrongly, with what is odd about it as a part of its name."""
    match = _ODD_FLAG.match(text)
    if match is None:
        return ""
    dashes = match[1] or ""
    return dashes + text[len(dashes or "--") :].replace("-", "_")


def text_of(word: Word) -> str:
    """A word's text, of a Python file in an unknown folder its name; empty where it is unknown."""
    return word.text or _program(word.shape)


def _program(shape: str) -> str:
    """The Python file at the end of a word whose folder is unknown."""
    name = shape.rpartition("/")[2]
    return name if name.endswith(".py") and "\0" not in name else ""


def settings_of(flags: Iterable[Flag]) -> dict[str, Setting]:
    """The settings that flags make, by name; of a flag given twice the last, which replaces those before it."""
    found: dict[str, Setting] = {}
    for flag in flags:
        put(_setting(flag), found)
    return found


def put(setting: Setting, settings: dict[str, Setting]) -> None:
    """Add a setting that a command gives to those that it gives before, of which it may replace one."""
    before = settings.get(setting.name)
    if before is not None and len(before.chain()) < _LONGEST_CHAIN:
        if before.span.path != setting.span.path:
            before = before._replace(computed=True)  # by a script that is sourced, which others may source as well
        setting = setting._replace(replaces=before)
    settings[setting.name] = setting


def _setting(flag: Flag) -> Setting:
    values = flag.values
    computed = any(word.computed for word in values) and not _stand_behind(flag.key, values)
    if flag.name in LISTS:
        value: Any = [UNKNOWN if word.text is None else word.text for word in values] or UNKNOWN
        spans = tuple(word.span for word in values)
        whole = spans[0]._replace(end_line=spans[-1].end_line, end_column=spans[-1].end_column) if spans else flag.key
        if spans and (whole.line, whole.column) > (whole.end_line, whole.end_column):
            whole = spans[0]  # the words come from several places
        return Setting(flag.name, value, whole, flag.key, spans, None, computed)
    if not values or flag.name in SWITCHES:
        return Setting(flag.name, UNKNOWN if flag.name in _VALUED else True, flag.key, flag.key)
    first = values[0]
    choices = VALUES.get(flag.name, ())
    several = first.text in choices and any(word.text in choices for word in values[1:])
    # an empty default is a placeholder for what the environment is to bring
    is_unknown = first.text is None or (first.computed and not first.text) or several
    value = UNKNOWN if is_unknown else number(first.text or "")
    return Setting(flag.name, value, first.span, flag.key, (), None, computed)


def _stand_behind(key: Span, words: Iterable[Word]) -> bool:
    """Whether words that come out of a variable stand behind their flag there, as in an array of flags."""
    for word in words:
        gap = word.span.column - key.end_column
        if not word.is_literal() or word.span.line != key.end_line or gap not in (1, 2):
            return False
        key = word.span
    return True


def at_commas(modules: Setting) -> Setting:
    """A flag's list where the program splits its first word at commas."""
    words = modules.value if isinstance(modules.value, list) else [modules.value]
    names: Any = UNKNOWN if UNKNOWN in words[:1] else str(words[0]).split(",")
    return modules._replace(value=names, items=_places(modules, names))


def _places(modules: Setting, names: Any) -> tuple[Span, ...]:
    """Where each name of a comma-separated word stands; nowhere by itself in a word that is computed or quoted."""
    if modules.computed or not isinstance(names, list) or len(modules.items) != 1:
        return ()
    word = modules.items[0]
    if word.line != word.end_line or word.end_column - word.column != len(",".join(names)):
        return ()
    spans = []
    at = word.column
    for name in names:
        spans.append(word._replace(column=at, end_column=at + len(name)))
        at += len(name) + 1
    return tuple(spans)


def number(text: str) -> Any:
    """A word as a number where it is one."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.match(text):
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)
