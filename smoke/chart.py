"""Draw a bench as a picture for a pull request. Imports matplotlib only when asked to draw."""

from __future__ import annotations

import os

from ..published import requirement  # pyrefly: ignore[missing-import]  # the package is mapped from folders
from ..sources.errors import UsageError
from .bench import Bench

_GIB = 1024**3
_KINDS = frozenset({".png", ".svg", ".pdf"})


def check(path: str) -> None:
    """See that a chart can be drawn at ``path``, before anything is measured.

    Raises:
        UsageError: the ending is none of ``.png``, ``.svg``, ``.pdf``, the folder isn't there, or matplotlib isn't.
    """
    if os.path.splitext(path)[1].lower() not in _KINDS:
        raise UsageError(f"--chart {path}: the name must end in .png, .svg or .pdf")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"--chart {path}: no folder {folder}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UsageError(f"--chart needs matplotlib: pip install {requirement('smoke')}") from error


def draw(bench: Bench, path: str) -> None:
    """Bars of memory, and of step time or operations, per variant.

    Memory is predicted for the stage where there is a prediction, else measured.

    Raises:
        UsageError: the file can't be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in bench.rows if row.saved is not None]
    figure, (memory, time) = pyplot.subplots(1, 2, figsize=(11, 0.45 * max(len(rows), 4) + 1.6), sharey=False)
    if bench.predicted.stage_rows:
        names = [row.variant for row in bench.predicted.stage_rows]
        memory.barh(names, [row.activations / _GIB for row in bench.predicted.stage_rows], color="#3b6ea5")
        memory.set_xlabel("GiB per GPU, at their peak")
        memory.set_title("Activations, predicted at real sizes")
    else:
        memory.barh([row.variant for row in rows], [(row.saved or 0) / 1024**2 for row in rows], color="#3b6ea5")
        memory.set_xlabel("MiB per layer")
        memory.set_title("Saved for backward, measured")
    names = [row.variant for row in rows]
    if bench.is_cuda:
        times, spread = ([(getattr(row, name) or 0) * 1e3 for row in rows] for name in ("seconds", "spread"))
        time.barh(names, times, xerr=spread, color="#c26a3d")
        time.set_xlabel("ms per step")
        time.set_title(f"Step time, {bench.environment['device']}")
    else:
        time.barh(names, [(row.flops or 0) / 1e9 for row in rows], color="#c26a3d")
        time.set_xlabel("GFLOP per step")
        time.set_title("Operations of the measured step")
    for axes in (memory, time):
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise UsageError(f"--chart {path}: {error}") from error
    finally:
        pyplot.close(figure)
