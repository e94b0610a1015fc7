"""One number made of the losses of many cells, with what it would be in other samples.

A statistic takes the float losses [..., cells] and the quantized losses [..., cells] and gives [...]; NaN where there is no
such number: curves that do not overlap, a divisor that is not above 0. Over items its spread comes from resamples; over
draws, orders and seeds from the number that each of them gives.
"""

import numpy as np

from .intervals import CONFIDENCE, common_sample, spread_of
from .pairing import base_of

LIMITS = {"rank_correlation": (-1.0, 1.0)}
ANY = (-np.inf, np.inf)


def rank_correlation(x, y):
    """Spearman's, over the last axis: Pearson's correlation of the ranks. NaN for fewer than 3 or where a side is constant."""
    x, y = (_ranks(np.asarray(side)) - (np.shape(side)[-1] + 1) / 2 for side in (x, y))
    size = (x * x).sum(-1) * (y * y).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.clip((x * y).sum(-1) / np.sqrt(size), -1, 1)
    return np.where((size > 0) & (np.shape(y)[-1] >= 3), out, np.nan)


def _ranks(values):
    """Ranks from 1 over the last axis; equal values share the mean of theirs."""
    ascending = np.sort(values, -1)
    if (ascending[..., 1:] == ascending[..., :-1]).any():
        from scipy.stats import rankdata  # noqa: PLC0415, slow along an axis in older versions

        return rankdata(values, axis=-1)
    return values.argsort(-1).argsort(-1) + 1


def slope(x, y):
    """The least-squares slope of y [..., n] over x [n]; NaN for fewer than 3 or a constant x."""
    if len(x) < 3:
        return np.full(np.shape(y)[:-1], np.nan)
    x = x - np.mean(x)
    return (x * (y - np.mean(y, -1, keepdims=True))).sum(-1) / ((x @ x) or np.nan)


def last_minus_first(values):
    """Over the last axis, which is along the training."""
    return values[..., -1] - values[..., 0]


def last_crossing(losses, loss):
    """(first, share) of where losses [..., n] along a line last pass `loss` [...]: between checkpoint `first` and the next
    one, `share` of the way; first is −1 where they never do."""
    loss = np.asarray(loss)[..., None]
    here, there = losses[..., :-1], losses[..., 1:]
    # places in order: at checkpoint 0, between 0 and 1, at 1, ...
    passes = np.zeros((*losses.shape[:-1], 2 * losses.shape[-1] - 1), bool)
    passes[..., ::2] = losses == loss
    passes[..., 1::2] = (np.minimum(here, there) < loss) & (loss < np.maximum(here, there))
    last = np.where(passes.any(-1), passes.shape[-1] - 1 - passes[..., ::-1].argmax(-1), -1)
    first = last // 2
    ends = [np.take_along_axis(losses, np.clip(first + i, 0, losses.shape[-1] - 1)[..., None], -1)[..., 0] for i in (0, 1)]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(last % 2 == 1, (loss[..., 0] - ends[0]) / (ends[1] - ends[0]), 0.0)
    return first, np.where(first < 0, 0.0, share)


def value_at(values, first, share):
    """The values [..., n] at a crossing, on a line between two checkpoints."""
    ends = [np.take_along_axis(values, np.clip(first + i, 0, values.shape[-1] - 1)[..., None], -1)[..., 0] for i in (0, 1)]
    return np.where(first < 0, np.nan, np.where(share == 0, ends[0], (1 - share) * ends[0] + share * ends[1]))


def crossings_at_equal_loss(a, b):
    """(loss, crossing of a, crossing of b) at the lowest float loss that both lines [..., n] reach."""
    loss = np.maximum(a.min(-1), b.min(-1))
    return loss, last_crossing(a, loss), last_crossing(b, loss)


def replicates_of(cell, kind):
    """{draw, order or seed: observation} of one kind; all else equals the base."""
    base, out = base_of(cell), {}
    for it in cell:
        if (kind == "draws" or it.draw == 0) and (kind == "jitter" or it.jitter == 0) \
                and (kind == "seeds" or it.seed == base.seed):
            out[{"draws": it.draw, "jitter": it.jitter, "seeds": it.seed}[kind]] = it
    return out


def is_fixed(cell, kind):
    """Whether replicates of that kind cannot make the cell differ: draws and orders of a method without calibration."""
    return kind != "seeds" and not base_of(cell).is_calibrated


def common_replicates(cells, kind):
    """For each draw, order or seed that all cells have: its observation of every cell, in the order of the index.

    A cell that cannot have this kind stands with its single value. {} if none can have it.
    """
    of_cells = [replicates_of(cell, kind) for cell in cells]
    free = [own for own, cell in zip(of_cells, cells) if not is_fixed(cell, kind)]
    if not free:
        return {}
    return {index: [own[min(own)] if is_fixed(cell, kind) else own[index] for own, cell in zip(of_cells, cells)]
            for index in sorted(set.intersection(*map(set, free)))}


def several_seeds(cells):
    """The observations of each seed that all cells have; [] of fewer than 2."""
    found = list(common_replicates(cells, "seeds").values())
    return found if len(found) > 1 else []


def _losses(observations):
    return (np.array([it.floating["value"] for it in observations], float), np.array([it.value for it in observations], float))


def estimate(cells, statistic, limits=ANY):
    """(value, spreads, notes) of a statistic of cells that have a base each; value is None where there is none. Intervals over
    items end at the limits of what the statistic may be."""
    bases = [base_of(cell) for cell in cells]
    value = float(statistic(*_losses(bases)))
    if np.isnan(value):
        return None, [], []
    spreads, notes = [], []
    _add_items(several_seeds(cells) or [bases], statistic, limits, spreads, notes)
    for kind in ("draws", "jitter", "seeds"):
        values = {index: float(statistic(*_losses(of_cells))) for index, of_cells in common_replicates(cells, kind).items()}
        notes += ["%s %d: there is no such number." % (kind, index) for index, each in values.items() if np.isnan(each)]
        known = [each for each in values.values() if not np.isnan(each)]
        if len(known) >= 2:
            spreads.append(spread_of(kind, known))
        elif kind == "draws" and not all(is_fixed(cell, kind) for cell in cells):
            notes.append("One calibration draw: no interval over draws.")
    return value, spreads, notes


def _add_items(of_seeds, statistic, limits, spreads, notes):
    """Over items, of the mean over seeds; of the first seed alone where seeds have no items in common."""
    records = [record for cells in of_seeds for it in cells for record in (it.floating, it.record)]
    sample = common_sample(records)
    if sample is None:
        if len(of_seeds) > 1:
            _add_items(of_seeds[:1], statistic, limits, spreads, notes)
            return
        notes.append("No interval over items: the cells share fewer than 2.")
        return
    places = {}  # a float model serves several cells
    for record in records:
        places.setdefault(id(record), len(places))
    distinct = {id(record): record for record in records}
    sums = np.stack([sample.sums(record) for record in distinct.values()])
    of_each = [([places[id(it.floating)] for it in cells], [places[id(it.record)] for it in cells]) for cells in of_seeds]

    def mean_over_seeds(means):
        return np.mean([statistic(means[..., floating], means[..., quantized]) for floating, quantized in of_each], 0)

    values = mean_over_seeds(sample.resampled_means(sums))
    undefined = np.isnan(values).mean()
    if undefined > (1 - CONFIDENCE) / 2:  # more than the interval leaves out on a side: it has no end there
        notes.append("No interval over %s: in %.0f %% of the resamples there is no such number." % (sample.units, 100 * undefined))
        return
    spreads.append(sample.spread_of_statistic(sums, mean_over_seeds, values, limits))
