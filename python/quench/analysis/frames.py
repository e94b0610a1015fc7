"""Data frames of values and contrasts: pandas, or polars by way of Arrow."""

from ..requirements import need
from ..values import canonical, member, sweep_values
from .dimensions import ALONG_TRAINING, NAMES, value_text
from .intervals import delta_spread
from .sentences import decision_of


def data_frame(rows, engine="pandas", **attrs):
    """A frame of dicts that have the same names. pandas keeps `attrs`."""
    if engine not in ("pandas", "polars"):
        raise ValueError("engine: got %s, wanted pandas or polars" % engine)
    need("pandas", *(["polars", "pyarrow"] if engine == "polars" else []))
    import pandas  # noqa: PLC0415

    frame = pandas.DataFrame(rows).dropna(axis=1, how="all").infer_objects()
    frame.attrs.update(attrs)
    if engine == "pandas":
        return frame
    import polars  # noqa: PLC0415
    import pyarrow  # noqa: PLC0415

    for name in frame:
        known = frame[name].dropna() if frame[name].dtype == object else frame[name][:0]
        if known.map(type).nunique() > 1:  # Arrow has one type a column
            frame[name] = frame[name].where(frame[name].isna(), frame[name].map(value_text))
    return polars.from_arrow(pyarrow.Table.from_pandas(frame, preserve_index=False))


def _plain(value):
    return canonical(value) if isinstance(value, (list, dict)) else value


def dimensions_of(it):
    """All dimensions in which the observation has a value, those of parameters and sweeps included."""
    out = {name: it[name] for name in NAMES}
    for head, values in (("params.", member(it.record["quantizer"], "params")),
                         ("averaging.", member(it.record["averaging"], "params")),
                         ("sweep.", dict(sweep_values(member(it.record["environment"], "sweep"))))):
        out.update({head + name: value for name, value in (values or {}).items()})
    return {name: _plain(value) for name, value in out.items()}


def value_frame(observations, engine="pandas"):
    rows = []
    for it in observations:
        has_delta = not it.is_float and it.floating is not None
        spread = delta_spread(it) if has_delta else None
        low, high = spread.interval if spread and spread.interval else (None, None)
        rows.append({**dimensions_of(it), "metric_id": it.record["metric"], "text": it.text or None, "draw": it.record["draw"],
                     "jitter": it.record["jitter"], "value": it.value, "unit": it.record["unit"],
                     "stderr": it.record["stderr"], "float": it.floating["value"] if has_delta else None,
                     "delta": it.delta if has_delta else None, "error": it.error if it.has_delta else None,
                     "low": low, "high": high, "sample": spread and spread.sample, "key": it.record["key"] or None})
    return data_frame(rows, engine)


def contrast_frame(contrasts, engine="pandas"):
    rows = []
    for contrast in contrasts:
        for row in contrast.rows:
            head = {"a": contrast.spec.a.name, "b": contrast.spec.b.name or contrast.spec.over, "what": row.what}
            tail = {**_told_apart(contrast, row), "value": row.value, "unit": contrast.unit(row), "bits_per_byte": row.bits_per_byte,
                    "statistic": contrast.spec.statistic, "cells": row.cells, "notes": " ".join(row.notes),
                    **_common_dimensions(row)}
            rows += [{**head, **_numbers(spread), **tail} for spread in row.spreads or [None]]
    return data_frame(rows, engine, problems=[problem for contrast in contrasts for problem in contrast.problems])


def _told_apart(contrast, row):
    decision = decision_of(contrast.spec, row)
    if decision == "no interval":
        return {"told_apart": None, "told_apart_of_all": None}
    return {"told_apart": decision != "none", "told_apart_of_all": decision == "at once"}


def _common_dimensions(row):
    """What both sides have in common; of more cells than a pair nothing that differs along the training."""
    a = dimensions_of(row.a)
    b = dimensions_of(row.b) if row.b else a
    return {name: value for name, value in a.items()
            if b.get(name) == value and (row.cells <= 2 or name not in ALONG_TRAINING)}


def _numbers(spread):
    names = ("over", "mean", "low", "high", "stderr", "n", "sample", "comparisons", "low_of_all", "high_of_all", "detectable")
    if spread is None:
        return dict.fromkeys(names)
    return dict(zip(names, (spread.kind, spread.mean, *spread.interval, spread.stderr, spread.n, spread.sample,
                            spread.comparisons, *(spread.simultaneous or (None, None)), spread.detectable)))
