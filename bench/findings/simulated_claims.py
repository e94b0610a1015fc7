"""How often a fresh run would decide a claim, if the means and spreads that were recorded are the truth.

Seeds are drawn with the recorded covariance of all rows and references of one run, so rows that move together still do. Text and
calibration data shift a row by their recorded error, which a fresh run knows as well as the recorded one. The recorded effect is itself
uncertain, above all where a claim is open: this says what a run of so many seeds could see, not what is so.
"""

import dataclasses

import numpy as np

import rules

SEEDS = (5, 8, 16)


def _of_run(rows, seeds, draw, runs):
    """The (values, reference) of each row of one run, [runs, seeds]."""
    common = sorted(set.intersection(*(set(row.seeds) for row in rows)))
    series = [[row.values, row.values if row.reference is None else row.reference] for row in rows]
    recorded = np.array([[side[row.seeds.index(seed)] for seed in common] for row, sides in zip(rows, series) for side in sides])
    mean = recorded.mean(1, keepdims=True)
    factor = (recorded - mean) / np.sqrt(len(common) - 1)  # factor @ factorᵀ is the covariance
    new = mean + np.einsum("kn,rns->rks", factor, draw.standard_normal((runs, len(common), seeds)))
    return [(new[:, 2 * i], new[:, 2 * i + 1]) for i in range(len(rows))]


def chances(found, seeds, runs, draw):
    """{word: share of fresh runs that say it} of a verdict with rows."""
    fresh, of_runs = {}, {}
    for one in found.rows:
        for row in one.rows:
            of_runs.setdefault(row.test.manifest, []).append(row)
    for rows in of_runs.values():
        for row, (values, reference) in zip(rows, _of_run(rows, seeds, draw, runs)):
            text = []
            for kind, error, freedom in row.text:
                values = values + error * draw.standard_normal((runs, 1))
                text.append((kind, error * np.sqrt(draw.chisquare(freedom, runs) / freedom), freedom))
            fresh[id(row)] = dataclasses.replace(row, seeds=list(range(seeds)), values=values,
                                                 reference=None if row.reference is None else reference, text=text)
    parts = [part for one in found.rows for part in rules.of_rows([fresh[id(row)] for row in one.rows])]
    holds, fails = rules.of_claim(parts, len(parts))
    said = np.where(fails <= rules.LEVEL, "fails", np.where(holds <= rules.LEVEL, "holds", "open"))
    return {word: float((said == word).mean()) for word in ("holds", "fails")}


def rows_of(all_claims, all_verdicts, runs, draw):
    """Rows of data/rules.csv of each claim whose rows all have numbers."""
    for id_, found in all_verdicts.items():
        if not found.rows or found.problems:
            continue
        for seeds in SEEDS:
            place = {"table": "summary", "contrast": f"claim {id_}", "row": f"{seeds} seeds"}
            yield {**place, "quantity": "simulations", "value": str(runs)}
            for word, share in chances(found, seeds, runs, draw).items():
                yield {**place, "quantity": f"would say {word}", "unit": "%", "value": f"{100 * share:.9g}"}
