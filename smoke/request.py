"""What is asked of a run, and the words for how it ended. Imports neither torch nor Megatron-Core."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .kinds import Kind

if TYPE_CHECKING:
    from .advise.predict import AdviseSite

#: The site ran, agreed, and saved memory.
PASS = "pass"
#: Megatron-Core (or torch) raised.
RAISED = "raised"
#: Loss or gradients with recompute differ from those without.
DIFFERED = "differed"
#: Recompute, or one of its modules, is not done as often or where it should be, or does not save what it should.
NOT_ENGAGED = "not-engaged"
#: The deadline passed.
TIMEOUT = "timeout"
#: The memory limit was reached.
OUT_OF_MEMORY = "out-of-memory"
#: The device cannot run this site; neither a pass nor a failure.
NOT_RUN = "not-run"

FAILURES = frozenset({RAISED, DIFFERED, NOT_ENGAGED, TIMEOUT, OUT_OF_MEMORY})

#: Stages of a run on a GPU: its first step, in which functions are compiled, and what comes after. Each gives the child
#: the whole deadline again.
WARM_UP = "warm-up"
WARMED_UP = "warmed up"

#: Exit code when something that is needed isn't there, or the user's input can't be used.
COULD_NOT_RUN = 2
#: Exit code when there was nothing this device could run.
NOTHING_RAN = 3

GIB = 1024**3


def started_ranks() -> int:
    """Ranks that ``torchrun`` started, 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first_rank() -> bool:
    """Whether this is the rank that reports: under ``torchrun`` every rank runs the command."""
    return os.environ.get("RANK", "0") == "0"


class Stages:
    """Announces each stage of a run before it begins, and remembers it.

    Attributes:
        now: the stage that the run is in.
    """

    def __init__(self, announce: Callable[[str], None], first: str) -> None:
        self._announce = announce
        self.now = first

    def __call__(self, name: str) -> None:
        """Enter the stage ``name``."""
        self.now = name
        self._announce(name)


@dataclass(frozen=True, slots=True)
class SmokeSite:
    """One place where a recompute configuration takes effect.

    Attributes:
        label: where it is, as ``path:line``.
        settings: effective ``TransformerConfig`` fields, and what else the recipe says (``seq_length``,
            ``micro_batch_size``, ``vocab_size``); absent means not known.
        facts: what is known of the model from elsewhere (``--facts``); fills what ``settings`` lacks.
        is_open: the rest of the configuration comes from elsewhere (a checkpoint), so an absent field is unknown and
            not MCore's default.
        kind: of model, as far as its name tells; counts where the site is open.
        known: everything that is known of it, for the prediction of ``bench``; None is ``settings``.
    """

    label: str
    settings: dict[str, object]
    facts: dict[str, object] = field(default_factory=dict)
    is_open: bool = False
    kind: Kind | None = None
    known: AdviseSite | None = None


@dataclass(frozen=True, slots=True)
class SmokeOptions:
    """The options ``smoke`` and ``bench`` share; both ignore what isn't theirs.

    Attributes:
        timeout: seconds that one child process may take; on a GPU that its first step may take, and what follows it.
        memory_limit: bytes of host memory that one child process may take.
        layers: transformer layers to build; None chooses the fewest that exercise the site's settings.
        mcore: a folder with ``megatron/core`` in it, or the version that must be installed; None takes what is.
        model: path of a Hugging Face ``config.json``; its sizes fill what site and facts lack.
        facts: as ``--facts k=v``; filled in after the site's own.
        sizes: the sizes to run with, by ``TransformerConfig`` field or ``seq_length``, ``micro_batch_size``,
            ``vocab_size``; each replaces the scaled-down one.
        output_format: ``text``, ``json`` or ``markdown``.
        chart: where ``bench`` draws its chart (``.png``, ``.svg``, ``.pdf``); None draws none.
        device: ``auto``, ``cpu`` or ``cuda``.
        repeats: measured steps of each bench row, after the warm-up.
        predict: whether ``bench`` predicts the bytes at the site's real sizes.
        progress: whether to tell on stderr what is going on.
    """

    timeout: float = 180.0
    memory_limit: int = 6 * GIB
    layers: int | None = None
    mcore: str | None = None
    model: str | None = None
    facts: dict[str, object] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    output_format: str = "text"
    chart: str | None = None
    device: str = "auto"
    repeats: int = 5
    predict: bool = True
    progress: bool = False


class Unavailable(Exception):
    """Torch or Megatron-Core cannot be imported, or nothing can run here; the message says why (exit code 2)."""
