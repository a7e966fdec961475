"""Construct Megatron-Core's real configuration classes: a child process that answers JSON lines.

Started with the folder of a release. The first line out is ``{"fields": {class: [name, ...]}}``. After that, every line in
is ``[class, {field: value}]``, and the line out is ``null`` where the class takes that, or else ``[file, line, error]``: the
innermost place in the release's configuration files that the exception came through, and what it says. An empty line in is
answered with an empty line out, so that a parent can send a batch and knows where it ends.
"""

import dataclasses
import importlib
import json
import logging
import os
import sys
import types
import warnings


def main(root: str) -> None:
    """Serve until the input ends."""
    sys.path.insert(0, root)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    out = os.fdopen(os.dup(1), "w")
    # What Megatron-Core prints is not an answer.
    os.dup2(2, 1)
    stub_packages(root)
    module = importlib.import_module("megatron.core.transformer.transformer_config")
    classes = {name: getattr(module, name) for name in ("TransformerConfig", "MLATransformerConfig") if hasattr(module, name)}
    fields = {name: [each.name for each in dataclasses.fields(kind)] for name, kind in classes.items()}
    print(json.dumps({"fields": fields}), file=out, flush=True)
    for line in sys.stdin:
        if not line.strip():
            print(file=out, flush=True)
            continue
        name, values = json.loads(line)
        print(json.dumps(verdict(classes[name], values, root)), file=out)


def stub_packages(root: str) -> None:
    """Let ``import megatron.core.x.y`` import ``y`` without everything that the packages above it import.

    The packages' ``__init__`` pull in models, kernels and optional dependencies which no configuration needs. Those with
    names that configuration files import are run when an attribute is asked for that isn't there.
    """
    del root


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
