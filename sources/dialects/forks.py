"""Programs that take Megatron-LM's flags and are not, or not only, Megatron-LM.

What Megatron-Core's source says of a configuration holds for them as far as each value goes, and no further:

* Forks from before March 2024, such as Megatron-DeepSpeed, have their parser in ``megatron/arguments.py`` with other
  defaults (``--recompute-num-layers`` is 1 in deepspeedai/Megatron-DeepSpeed at 4efb479d, L851) and with flags that
  Megatron-LM has given up (``--checkpoint-activations``, L864).
* MindSpeed replaces parts of Megatron-Core when it is imported (Ascend/MindSpeed-LLM at c77308a1, ``pretrain_gpt.py``),
  and has recompute flags of its own that work with Megatron-LM's (``--recompute-in-advance``, ``--swap-attention``).
  Those for activation functions and norms leave the others as they are (Ascend/MindSpeed at 028de58c,
  ``mindspeed/arguments.py#L697-L709``); ``--recompute-in-bubble`` fills them in (L779-L793).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from ..keys import RECOMPUTE_FLAGS
from ..projects import upwards
from ..reader import Reader
from ..suggest import nearest
from .megatron_parser import is_opposite, whole_names

_PARSER = os.path.join("megatron", "arguments.py")
_PATCHED = re.compile(r"^\s*(?:import|from)\s+mindspeed", re.MULTILINE)
_OLD_SWITCH = re.compile(r"add_argument\(\s*['\"]--checkpoint-activations")

#: Flags of MindSpeed's beside which Megatron-LM's mean what they mean alone.
BESIDE = frozenset(
    {
        "recompute_activation_function",
        "recompute_activation_function_num_layers",
        "recompute_norm",
        "recompute_norm_num_layers",
    }
)

#: A flag that is nearer to a known one than this is a misspelling of it.
_TOLERANCE = 1 / 8


def is_fork(reader: Reader, path: str, flags: Iterable[str], words: Iterable[str]) -> bool:
    """Whether a command runs such a program.

    Args:
        reader: reads the files beside the script.
        path: the script.
        flags: the names of the command's recompute flags.
        words: the command's words; a Python file among them is looked for above the script.
    """
    flags = list(flags)
    if not is_patched(reader, path, flags) or not BESIDE.isdisjoint(flags):
        return True
    return any(
        _PATCHED.search(above(reader, path, word)) for word in words if word.endswith(".py") and not os.path.isabs(word)
    )


def is_patched(reader: Reader, path: str, flags: Iterable[str]) -> bool:
    """Whether such a program has Megatron-LM's own parser and is given none but its flags about recomputation.

    What is absent is then absent: MindSpeed asks for what Megatron-Core asks for (Ascend/MindSpeed at c77308a1,
    ``mindspeed/core/transformer/transformer_config.py#L88-L107``), unless flags of its own say otherwise.
    """
    return not has_others(flags) and not above(reader, path, _PARSER)


def has_others(flags: Iterable[str]) -> bool:
    """Whether one of some recompute flags is neither Megatron-LM's, nor nearly, nor one that leaves those alone."""
    known = sorted(RECOMPUTE_FLAGS)
    strange = (name for name in flags if name not in known and not (whole_names(name) or is_opposite(name)))
    return any(name not in BESIDE and nearest(name, known, _TOLERANCE) is None for name in strange)


def takes_old_switch(reader: Reader, path: str) -> bool:
    """Whether the project that a script belongs to has a parser that takes ``--checkpoint-activations``."""
    return _OLD_SWITCH.search(above(reader, path, _PARSER)) is not None


def above(reader: Reader, path: str, name: str) -> str:
    """The text of the nearest file ``name`` beside the one at ``path`` or above in the same repository, or nothing."""
    file = file_above(path, name)
    return reader.document(file).text if file else ""


def file_above(path: str, name: str) -> str:
    """The path of the nearest file ``name`` beside the one at ``path`` or above in the same repository, or nothing."""
    for current in upwards(os.path.dirname(os.path.abspath(path)), in_repository=True):
        file = os.path.normpath(os.path.join(current, name))
        if file.startswith(current + os.sep) and os.path.isfile(file):
            return file
    return ""
