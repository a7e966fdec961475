"""The nearest of several names.

:mod:`difflib` has no one cutoff for both: what still finds a module behind ``mlp`` with a letter too many takes another
framework's ``activation_checkpointing_enabled`` for a misspelled key.
"""

from __future__ import annotations

from collections.abc import Iterable


def distance(left: str, right: str, limit: int) -> int:
    """The optimal string alignment distance (an insertion, deletion, substitution or swap of neighbours costs 1).

    Returns more than ``limit`` as soon as it is clear that the distance is that large.
    """
    # an insertion or deletion changes the set of letters by one at most, a substitution by two, and a swap not at all
    if abs(len(left) - len(right)) > limit or len({*left} ^ {*right}) > 2 * limit:
        return limit + 1
    two_back: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        current = [i]
        for j, b in enumerate(right, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, two_back[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        two_back, previous = previous, current
    return previous[-1]


def nearest(name: str, candidates: Iterable[str], tolerance: float = 1 / 3) -> str | None:
    """The candidate that ``name`` most likely stands for, or None when none is near.

    Args:
        name: what was written. Letter case and ``-`` for ``_`` do not count.
        candidates: what could have been meant.
        tolerance: the share of a candidate's letters that may be wrong; one letter always may.
    """
    plain = _plain(name)
    best: tuple[int, str] | None = None
    for candidate in candidates:
        limit = max(1, int(len(candidate) * tolerance))
        found = distance(plain, _plain(candidate), limit)
        if found <= limit and (best is None or (found, candidate) < best):
            best = (found, candidate)
    return best[1] if best else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
