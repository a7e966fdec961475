from fractions import Fraction

import pytest

from recompute_lint.smoke import polynomial

POINTS = [{"s": s, "h": h} for s in (2, 3, 5) for h in (4, 7, 9)]


def values(function):
    return [function(**point) for point in POINTS]


def test_recovers_the_coefficients_exactly():
    terms = [(), ("s",), ("h", "s"), ("s", "s")]
    found = polynomial.fit(terms, POINTS, values(lambda s, h: 5 + 20 * s * h + 3 * s * s))
    assert found.coefficients == {(): 5, ("h", "s"): 20, ("s", "s"): 3}
    assert found.worst_residual == 0
    assert found.at({"s": 4096, "h": 8192}) == 5 + 20 * 4096 * 8192 + 3 * 4096**2


def test_keeps_fractions():
    found = polynomial.fit([("h", "s")], POINTS[:2], [2, Fraction(7, 2)])
    assert found.coefficients == {("h", "s"): Fraction(1, 4)}


def test_says_when_a_term_is_missing():
    found = polynomial.fit([("s",), ("h", "s")], POINTS, values(lambda s, h: s * h + 2 * s * s * s))
    assert found.worst_residual > 0.01


def test_drops_terms_that_the_points_cannot_tell_apart():
    points = [{"s": 2, "h": 4}, {"s": 3, "h": 6}, {"s": 5, "h": 10}]
    assert polynomial.independent([("s",), ("h",), ("h", "s")], points) == [("s",), ("h", "s")]


def test_refuses_dependent_terms():
    with pytest.raises(ValueError, match="not independent"):
        polynomial.fit([("s",), ("s",)], POINTS, values(lambda s, h: s))
