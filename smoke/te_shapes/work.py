"""Floating-point operations of what has no kernel here: torch's FLOP formulas count only torch's own functions."""

from __future__ import annotations


class Work:
    """Operations that the stand-in's products and attention would have taken, since it was last set to zero."""

    def __init__(self) -> None:
        self.flops = 0

    def product(self, m: int, n: int, k: int) -> None:
        """A product of (m, k) and (k, n)."""
        self.flops += 2 * m * n * k


#: The one that the stand-in counts into.
DONE = Work()
