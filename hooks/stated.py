"""Check what the user states of the model and of the project: fields with their values, files, a release."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..schemas import store
from ..schemas.detect import CONFIG
from ..schemas.field_types import expected, field_types
from ..sources import facts
from ..sources.errors import UsageError, shown
from ..sources.keys import RECOMPUTE_KEYS
from ..sources.suggest import nearest

#: What a model or a run has beside the fields of its configuration.
OF_A_RUN = ("seq_length", "micro_batch_size", "global_batch_size", "vocab_size")


def check_facts(stated: Iterable[tuple[str, Any]], where: str, *, others: bool = False) -> None:
    """Check fields with their values.

    Args:
        stated: the fields.
        where: the option or the key of a configuration file, for messages.
        others: whether further names have a meaning, so that only one that is close to a known one is wrong.

    Raises:
        UsageError: a field is unknown, or its value has the wrong type.
    """
    for name, value in stated:
        known = {*field_types(), *OF_A_RUN, *RECOMPUTE_KEYS}
        if name not in known:
            close = nearest(name, known, 1 / 6)
            if others and close is None:
                continue
            hint = f"; did you mean {close}?" if close else ": no release of megatron-core has it"
            raise UsageError(f"{where}: unknown field {name}{hint}")
        wanted = expected(name, value)
        if name in OF_A_RUN and not (isinstance(value, int) and not isinstance(value, bool)):
            wanted = "a whole number"
        if wanted:
            raise UsageError(f"{where}: {name} must be {wanted}, not {shown(value)}")


def check_release(requested: str, by: str) -> None:
    """Check what is to be linted against, without loading it.

    Raises:
        UsageError, store.UnknownRelease: it is neither a release known, nor ``installed``, nor a source tree.
    """
    if requested in ("", "installed") or store.released(requested) or store.newest_in(requested):
        return
    if os.path.isdir(requested):
        above = (requested, os.path.join(requested, ".."), os.path.join(requested, "..", ".."))
        if not any(os.path.isfile(os.path.join(folder, CONFIG)) for folder in above):
            raise UsageError(f"{by}: {requested}: not a source tree of megatron-core: it does not have {CONFIG}")
        return
    try:
        store.load(requested)
    except store.UnknownRelease as error:
        # a branch, or a word such as latest
        hint = "" if any(map(str.isdigit, requested)) else "; a source tree is named by its folder"
        raise store.UnknownRelease(f"{by}: {error}{hint}") from None


def check_model(path: str, by: str) -> None:
    """Check that a model's ``config.json`` can be read.

    Raises:
        UsageError: it cannot.
    """
    try:
        facts.config_of(path)
    except facts.WrongFacts as error:
        raise UsageError(f"{by}: {error}") from None
