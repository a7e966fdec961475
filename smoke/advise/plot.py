"""Draw the choices: memory over extra operations. Needs matplotlib."""

from __future__ import annotations

import os

from ...published import requirement  # pyrefly: ignore[missing-import]  # the package is mapped from folders
from ...sources.errors import UsageError
from ..request import Unavailable
from .choices import front
from .predict import Prediction


def check(path: str) -> None:
    """Refuse what cannot be drawn before anything is measured.

    Raises:
        UsageError: the ending of the file is not a picture's.
        Unavailable: matplotlib is not here.
    """
    if os.path.splitext(path)[1] not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--chart {path}: the file must end with .png, .svg or .pdf")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Unavailable(f"--chart needs matplotlib ({error}): pip install {requirement('smoke')}") from error


def draw(found: Prediction, path: str) -> None:
    """Write the picture.

    Raises:
        UsageError: the file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    best = {choice.name for choice in front(found.choices)}
    for choice in found.choices:
        x, y = 100 * choice.extra_flops, choice.peak / 1e9
        is_configured = choice.name == found.configured.name
        axes.plot(
            x,
            y,
            "D" if is_configured else "o",
            color="C1" if is_configured else "C0",
            alpha=1 if choice.name in best else 0.3,
        )
        if is_configured or (choice.name in best and choice.settings.get("recompute_method") != "block"):
            axes.annotate(choice.name, (x, y), textcoords="offset points", xytext=(5, 5), fontsize=8)
    axes.axhline(found.memory / 1e9, color="C3", linestyle="--", label=f"{found.memory / 1e9:.0f} GB")
    axes.set(xlabel="extra FLOPs, %", ylabel="peak allocated, GB", title=found.site.label)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    try:
        figure.savefig(path)
    except OSError as error:
        raise UsageError(f"--chart {path}: {error.strerror or error}") from None
    finally:
        pyplot.close(figure)
