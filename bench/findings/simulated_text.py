"""Shifts that all seeds of a simulation share, and what each simulation knows of how far they go."""

import numpy as np


def shifts(moved, draw, runs):
    """(of the row [runs, 1], of its reference [runs, 1], a rules.Moved whose numbers [runs] are estimates with its degrees of freedom).

    Both shifts are normal with the covariance of `moved`. Their estimated covariance has Wishart's distribution, drawn by Bartlett's
    factors (1933): the covariance is that of `freedom` observations.
    """
    slope = moved.both / moved.error ** 2 if moved.error else 0.0
    factor = np.array([[moved.error, 0.0], [slope * moved.error, np.sqrt(max(moved.of_reference - slope * moved.both, 0.0))]])
    of_row, of_reference = (factor @ draw.standard_normal((2, runs)))[:, :, None]
    zero = np.zeros(runs)
    bartlett = np.array([[np.sqrt(draw.chisquare(moved.freedom, runs)), zero],
                         [draw.standard_normal(runs), np.sqrt(draw.chisquare(max(moved.freedom - 1, 1e-9), runs))]])
    root = np.einsum("ij,jkr->ikr", factor, bartlett) / np.sqrt(moved.freedom)
    (variance, both), (_, reference) = np.einsum("ijr,kjr->ikr", root, root)
    return of_row, of_reference, moved._replace(error=np.sqrt(variance), both=both, of_reference=reference)
