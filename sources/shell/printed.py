"""Programs of a project that print flags for its scripts, and what is known of those flags.

radixark/miles at 31f1ca961: ``miles/utils/external_utils/model_args_utils.py`` prints what a file of ``scripts/models``
says of a model, and its scripts take that for flags: ``LINE="$(python3 .../model_args_utils.py qwen3-4B)"``.
"""

from __future__ import annotations

import os
import re

from ..projects import project_root, upwards
from ..reader import Reader

_PROGRAM = os.path.join("miles", "utils", "external_utils", "model_args_utils.py")
_MODELS = os.path.join("scripts", "models")
_RUNS = re.compile(r"\$\([^)]*\bmiles/utils/external_utils/model_args_utils\.py\b")


def shows(source: str, path: str, reader: Reader) -> bool:
    """Whether what a command substitution gives has no flags about recomputation, as the project's files show.

    Args:
        source: the substitution.
        path: the script.
        reader: reads the project's files.
    """
    if not _RUNS.match(source):
        return False
    root = project_root(path)
    for folder in upwards(os.path.dirname(path) or "."):
        if os.path.isfile(os.path.join(folder, _PROGRAM)):
            return _are_silent(folder, reader)
        if folder == root:
            break
    return False


def _are_silent(folder: str, reader: Reader) -> bool:
    """Whether no file that describes a model names recomputation."""
    key = f"printed:{folder}"
    if key not in reader.memo:
        models = os.path.join(folder, _MODELS)
        names = os.listdir(models) if os.path.isdir(models) else []
        files = [os.path.join(folder, _PROGRAM), *(os.path.join(models, name) for name in names if name[-3:] == ".py")]
        texts = [reader.document(file).text for file in files]
        reader.memo[key] = len(files) > 1 and all(text and "recompute" not in text for text in texts)
    return bool(reader.memo[key])
