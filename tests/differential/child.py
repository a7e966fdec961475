"""Construct Megatron-Core's real configuration classes: a child process that answers JSON lines.

Started with the folder of a release. The first line out is ``{"fields": {class: [name, ...]}}``. After that, every
line in is ``[class, {field: value}]``, and the line out is ``null`` where the class takes that, or else ``[file, line,
error]``: the innermost place in the release's files that the exception came through, and what it says. An empty line
in is answered with an empty line out, so that a parent can send a batch and knows where it ends.

Transformer Engine needs a GPU's libraries to be installed. Where a value ``transformer-engine`` is given, the release
is told that this version is there; without, ``is_te_min_version`` of most releases fails with a TypeError.
"""

import dataclasses
import importlib
import json
import logging
import os
import sys
import warnings


def main(root: str) -> None:
    """Serve until the input ends."""
    sys.path.insert(0, root)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    out = os.fdopen(os.dup(1), "w")
    # What Megatron-Core prints is not an answer.
    os.dup2(2, 1)
    module = importlib.import_module("megatron.core.transformer.transformer_config")
    names = [name for name in ("TransformerConfig", "MLATransformerConfig") if hasattr(module, name)]
    classes = {name: getattr(module, name) for name in names}
    utils = importlib.import_module("megatron.core.utils")
    fields = {name: [each.name for each in dataclasses.fields(kind)] for name, kind in classes.items()}
    print(json.dumps({"fields": fields}), file=out, flush=True)
    for line in sys.stdin:
        if not line.strip():
            print(file=out, flush=True)
            continue
        name, values = json.loads(line)
        pretend_version(values.pop("transformer-engine", None), utils, module)
        print(json.dumps(verdict(classes[name], values, root)), file=out)
    out.flush()
    # Tearing torch down takes longer than a batch.
    os._exit(0)


def pretend_version(version: str | None, *modules: object) -> None:
    """Have modules that ask for Transformer Engine's version get the given one."""
    if version is not None:
        from packaging.version import Version

        for module in modules:
            if hasattr(module, "get_te_version"):
                module.get_te_version = lambda: Version(version)


def verdict(kind: type, values: dict, root: str) -> list | None:
    """What constructing a class says to some values."""
    import torch

    if isinstance(values.get("pipeline_dtype"), str):
        values["pipeline_dtype"] = getattr(torch, values["pipeline_dtype"])
    try:
        kind(**values)
    except Exception as error:
        place = ["", 0]
        trace = error.__traceback__
        while trace is not None:
            file = os.path.relpath(trace.tb_frame.f_code.co_filename, root)
            if file.startswith("megatron"):
                place = [file, trace.tb_lineno]
            trace = trace.tb_next
        return [*place, f"{type(error).__name__}: {error}"]
    return None


if __name__ == "__main__":
    main(sys.argv[1])
