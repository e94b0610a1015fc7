"""How often the verdict "in one run" of verdicts.py is wrong, over text and over calibration draws.

Blocks of text depend on their neighbours; another text, of which there are as many blocks, moves a row by one deviation. Another
calibration draw moves it by `ratio` deviations. Spreads are those of quench.analysis, as `quench report` has them.
"""

import numpy as np
from scipy.signal import lfilter

import claims
import verdicts
from quench.analysis.intervals import ItemSample, spread_of  # verdicts.py finds it

BLOCKS = 293  # of 2048 ids in the 600,000 of the study
DEPENDENCE = 0.3
OF_TEXT = np.sqrt((1 + DEPENDENCE) / (1 - DEPENDENCE) / BLOCKS)  # the error of a mean of so many blocks with deviation 1
SAMPLE = ItemSample(np.ones(BLOCKS), False, True)
RESAMPLES = 1999


def test_of(border=0.0):
    return claims.Test(id="c", manifest="m", contrasts=[{}], decides=True, rule="above", border=border)


def blocks(draw, *shape):
    """Series of blocks whose means have deviation 1."""
    news = np.sqrt(1 - DEPENDENCE ** 2) * draw.standard_normal((*shape, BLOCKS))
    first = DEPENDENCE * draw.standard_normal((*shape, 1))
    return lfilter([1], [1, -DEPENDENCE], news, zi=first)[0] / OF_TEXT


def row_of(**spreads):
    row = verdicts.ContrastRow("c", "a − b", "q", "")
    for kind, spread in spreads.items():
        row.numbers.update({f"{kind}.n": spread.n, f"{kind}.mean": spread.mean, f"{kind}.stderr": spread.stderr})
        if spread.interval:
            row.numbers.update({f"{kind}.low": spread.interval[0], f"{kind}.high": spread.interval[1]})
    return row


def word_of(rows, border=0.0, sides=verdicts.sides):
    test = test_of(border)
    found = [verdicts.Decided([row], *sides(row, test)) for row in rows]
    return verdicts.word_of(found, len(found), True)[0]


def differences(effects, ratio=0.0, draws=1):
    """Rows with these effects, in deviations of the text, which they share; `draws` calibration draws of each are known."""
    def once(draw):
        text, rows = blocks(draw), []
        for effect in effects:
            moved = ratio * draw.standard_normal(draws)
            values = effect + 0.8 * text + 0.6 * blocks(draw)
            known = {"items": SAMPLE.spread(values + moved[0])}
            if draws > 1:
                known["draws"] = spread_of("draws", values.mean() + moved)
            rows.append(row_of(**known))
        return word_of(rows)
    return once


def slopes(sure_a, sure_b, ratio=1.0, sides=verdicts.sides):
    """A row of two slopes, each of which the text tells with as many deviations as `sure` says; both are 1, or the first `ratio`."""
    weights = SAMPLE.resampled_means(np.eye(BLOCKS))[:RESAMPLES]  # of each block in each resample

    def quotient(means):
        return means[..., 0] / means[..., 1]

    def once(draw):
        both = np.stack([ratio * (1 + blocks(draw) / sure_a), 1 + blocks(draw) / sure_b])
        return word_of([row_of(items=SAMPLE.spread_of_statistic(both, quotient, quotient(weights @ both.T)))], 1.0, sides)
    return once


def by_t_alone(row, test):
    """What decided a ratio before its interval had to agree."""
    return verdicts.sides(row_without_interval(row), test)


def row_without_interval(row):
    out = verdicts.ContrastRow(row.test, row.contrast, row.what, row.unit)
    out.numbers = {key: value for key, value in row.numbers.items() if not key.endswith((".low", ".high"))}
    return out


def scenarios():
    """(rule, data, what would be wrong or is looked for, a function of the random numbers for one simulation)."""
    yield "one run", "one row, text alone", "holds fails", differences([0.0])
    for ratio in (0.5, 1, 2):
        yield "one run", f"one row, 3 draws, each {ratio} times as far as text", "holds fails", differences([0.0], ratio, 3)
    yield "one run", "3 rows (claim 8), one without effect", "holds", differences([0.0, 50.0, 50.0], 1.0, 3)
    yield "one run", "3 rows (claim 8), none with an effect", "fails", differences([0.0] * 3, 1.0, 3)
    yield "one run", "22 rows (claim 9), none with an effect, text alone", "fails", differences([0.0] * 22)
    for sure_a, sure_b in ((3, 3), (10, 2), (10, 5), (20, 20), (0.5, 20)):
        yield "one run, ratio of slopes", f"equal, {sure_a} and {sure_b} deviations of text", "holds fails", slopes(sure_a, sure_b)
    for effect in (1, 2, 4):
        yield "one run", f"effect of {effect} {'deviation' if effect == 1 else 'deviations'} of text, 3 draws, each as far", "power", differences([float(effect)], 1.0, 3)
        yield "one run", f"effect of {effect} {'deviation' if effect == 1 else 'deviations'}, text alone", "power", differences([float(effect)])
    for ratio in (1.5, 2.0):
        yield "one run, ratio of slopes", f"{ratio} times as steep, 20 and 20 deviations of text", "power", slopes(20, 20, ratio)
    for ratio in (0.5, 1, 2):
        yield "one run", f"one row, one draw {ratio} times as far as text, silent about it", "before holds", differences([0.0], ratio)
    yield "one run, ratio of slopes", "equal, 10 and 2 deviations of text, by t alone", "before fails", slopes(10, 2, sides=by_t_alone)
