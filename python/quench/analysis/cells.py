"""Every cell in one table: a value at draw 0 and the first seed, with what its replicates say."""

from ..values import canonical, member
from .dimensions import sweep_point
from .frames import data_frame
from .intervals import KINDS, delta_spread, spread_of
from .observations import is_loss
from .points import point_names


def cells_of(observations):
    """One dict for each cell, in the order of the records; `items`, `draws`, `jitter` and `seeds` are the spreads of ΔCE, None
    where there is none."""
    cells = {}
    for it in observations:
        cells.setdefault((it.cell, it.record["metric"]), []).append(it)
    points = point_names([sweep_point(it.record) for it in observations])
    return [_cell(sorted(cell, key=lambda it: (it.draw, it.jitter, it.seed)), points) for cell in cells.values()]


def _cell(cell, points):
    base, point = cell[0], sweep_point(cell[0].record)
    record, has_delta = base.record, not base.is_float and base.floating is not None
    out = {"point": isinstance(point, dict) and points[canonical(point)] or None,
           **{name: base[name] for name in ("model", "branch", "checkpoint", "step", "tokens", "lr", "averaging")},
           "method": "float" if base.is_float else base["label"], "bits": member(record["quantizer"], "bits_per_weight"),
           "bytes": base["bytes"], "metric": record["metric"], "label": record["label"], "text": base.text or None,
           "value": base.value, "stderr": record["stderr"], "unit": record["unit"], "delta": base.delta if has_delta else None,
           "error": base.error if has_delta and is_loss(record) else None, "items": delta_spread(base)}
    for kind in KINDS[1:]:
        values = [it.delta for it in cell if has_delta and it.floating is not None
                  and (kind == "draws" or it.draw == base.draw) and (kind == "jitter" or it.jitter == base.jitter)
                  and (kind == "seeds" or it.seed == base.seed)]
        out[kind] = spread_of(kind, values) if len(values) >= 2 else None
    return out


def cell_frame(observations, engine="pandas"):
    rows = []
    for row in cells_of(observations):
        for kind in KINDS:
            spread = row.pop(kind)
            low, high = spread.interval if spread else (None, None)
            row.update({kind + "_n": spread and spread.n, kind + "_mean": spread and spread.mean, kind + "_low": low,
                        kind + "_high": high})
        rows.append(row)
    return data_frame(rows, engine)
