"""Fit a polynomial of given terms through integer measurements, exactly. Standard library only.

Saved bytes are sums of tensor sizes, and a tensor's size is a product of model sizes, so with the right terms the fit
has no error at all; rational arithmetic shows whether it has none or merely a small one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

#: A product of sizes, by name; the empty one is the constant. A name may come twice (``seq_length`` squared).
Term = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A fitted polynomial.

    Attributes:
        coefficients: by term, in bytes.
        worst_residual: the largest relative distance of a measurement that was fitted; 0 if the fit is exact.
    """

    coefficients: dict[Term, Fraction]
    worst_residual: float

    def at(self, sizes: dict[str, int]) -> float:
        """The value at ``sizes``, which must name every size of every term."""
        return float(sum(factor * value_of(term, sizes) for term, factor in self.coefficients.items()))


def value_of(term: Term, sizes: dict[str, int]) -> int:
    """The product of the sizes that ``term`` names."""
    return math.prod(sizes[name] for name in term)


def independent(terms: Iterable[Term], points: Sequence[dict[str, int]]) -> list[Term]:
    """The terms, in order, less those that at these points are a combination of earlier ones."""
    kept: list[Term] = []
    basis: list[tuple[int, list[Fraction]]] = []
    for term in terms:
        column = _reduced([Fraction(value_of(term, point)) for point in points], basis)
        pivot = next((index for index, value in enumerate(column) if value), None)
        if pivot is not None:
            basis.append((pivot, [value / column[pivot] for value in column]))
            kept.append(term)
    return kept


def fit(terms: Sequence[Term], points: Sequence[dict[str, int]], values: Sequence[int]) -> Polynomial:
    """Fit by least squares in rational arithmetic.

    Args:
        terms: linearly independent at ``points``; see :func:`independent`.
        points: the sizes measured at; more of them than terms, or an inexact fit can't be told from an exact one.
        values: what was measured, in the same order.

    Raises:
        ValueError: the terms aren't independent at these points.
    """
    rows = [[Fraction(value_of(term, point)) for term in terms] for point in points]
    matrix = [
        [sum((row[i] * row[j] for row in rows), Fraction(0)) for j in range(len(terms))]
        + [sum((row[i] * value for row, value in zip(rows, values, strict=True)), Fraction(0))]
        for i in range(len(terms))
    ]
    solution = _solve(matrix)
    coefficients = dict(zip(terms, solution, strict=True))
    residuals = [
        abs(float(sum(factor * entry for factor, entry in zip(solution, row, strict=True)) - value)) / max(value, 1)
        for row, value in zip(rows, values, strict=True)
    ]
    return Polynomial({term: factor for term, factor in coefficients.items() if factor}, max(residuals, default=0.0))


def _reduced(column: list[Fraction], basis: list[tuple[int, list[Fraction]]]) -> list[Fraction]:
    for pivot, other in basis:
        factor = column[pivot]
        if factor:
            column = [value - factor * entry for value, entry in zip(column, other, strict=True)]
    return column


def _solve(matrix: list[list[Fraction]]) -> list[Fraction]:
    """Gauss-Jordan elimination of an augmented matrix, in place."""
    size = len(matrix)
    for column in range(size):
        pivot = next((row for row in range(column, size) if matrix[row][column]), None)
        if pivot is None:
            raise ValueError("the terms are not independent at these points")
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        scale = matrix[column][column]
        matrix[column] = [value / scale for value in matrix[column]]
        for row in range(size):
            factor = matrix[row][column]
            if row != column and factor:
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)]
    return [row[size] for row in matrix]
