#!/usr/bin/env python3
"""The report's statistics beside scipy's and numpy's: report_statistics.py build/release/bench/report_coverage

Prints a table: the largest relative difference of each kind over all inputs. The variance of means of runs is also held
against a moving-block bootstrap that really draws (4,000 resamples), which agrees up to the drawing. Needs the packages
of requirements-statistics.txt.
"""
import json
import subprocess
import sys

import numpy as np
from scipy import optimize, stats

RESAMPLES = 4000


def relative(ours, theirs):
    return abs(ours - theirs) / max(abs(theirs), 1e-300)


def power_of(effect, df):
    return stats.nct.sf(stats.t.ppf(0.975, df), df, effect)


def whitened(values):
    """The values without what their neighbours tell, and by how much the variance of their mean is then too small."""
    n, rests = len(values), values - values.mean()
    r = np.dot(rests[:-1], rests[1:]) / np.dot(rests, rests)
    phi = min(max(r + (1 + 4 * r) / n, 0.0), 1 - 1 / np.sqrt(n))
    return (rests, 1.0) if phi == 0 else (rests[1:] - phi * rests[:-1], (n - 1) / n / (1 - phi) ** 2)


def of_runs(values, run):
    """Standard error of the mean by means of overlapping runs, as Meketon and Schmeiser have it."""
    news, factor = whitened(values)
    n = len(news)
    means = np.convolve(news, np.full(run, 1 / run), mode="valid")
    return np.sqrt(factor * run * np.sum((means - news.mean()) ** 2) / ((n - run + 1) * (n - run)))


def drawn(values, run, generator):
    """The same by drawing, times what makes its expectation that of independent values."""
    news, factor = whitened(values)
    n = len(news)
    firsts = generator.integers(0, n - run + 1, size=(RESAMPLES, -(-n // run)))
    indices = (firsts[:, :, None] + np.arange(run)).reshape(RESAMPLES, -1)
    whole = indices.shape[1]  # whole runs: the variance of a mean of n values follows by n
    return news[indices].mean(axis=1).std() * np.sqrt(factor * whole / n * n / (n - run))


def main():
    got = json.loads(subprocess.run([sys.argv[1], "values"], capture_output=True, text=True, check=True).stdout)
    generator = np.random.default_rng(0)
    rows = {"quantile of Student's t": [], "smallest detectable effect": [], "standard error, runs of blocks": [],
            "standard error, runs of blocks, drawn": [], "standard error, documents": [], "interval": [],
            "rank correlation": [], "slope": []}
    for entry in got["t"]:
        theirs = stats.t.ppf((1 + entry["confidence"]) / 2, entry["df"])
        rows["quantile of Student's t"].append(relative(entry["value"], theirs))
    for entry in got["detectable"]:
        theirs = optimize.brentq(lambda effect: power_of(effect, entry["df"]) - 0.8, 0.1, 60, xtol=1e-10)
        rows["smallest detectable effect"].append(relative(entry["value"], theirs))
    for entry in got["blocks"]:
        values, ours = np.array(entry["values"]), entry["got"]
        theirs = of_runs(values, entry["run"]) if entry["run"] > 1 else stats.sem(values)
        rows["standard error, runs of blocks"].append(relative(ours["stderr"], theirs))
        rows["standard error, runs of blocks, drawn"].append(
            relative(ours["stderr"], drawn(values, entry["run"], generator)))
        low, high = stats.t.interval(0.95, ours["df"], loc=values.mean(), scale=theirs)
        rows["interval"] += [relative(ours["low"], low), relative(ours["high"], high)]
    for entry in got["documents"]:
        sums, sizes = np.array(entry["sums"]), np.array(entry["sizes"])
        mean = sums.sum() / sizes.sum()
        without = (sums.sum() - sums) / (sizes.sum() - sizes)  # the mean with one document left out
        theirs = np.sqrt((len(sums) - 1) / len(sums) * np.sum((without - mean) ** 2))
        rows["standard error, documents"].append(relative(entry["got"]["stderr"], theirs))
    for entry in got["pairs"]:
        rows["rank correlation"].append(
            relative(entry["rank_correlation"], stats.spearmanr(entry["x"], entry["y"]).statistic))
        rows["slope"].append(relative(entry["slope"], stats.linregress(entry["x"], entry["y"]).slope))
    print("| number | inputs | largest relative difference |\n|---|---|---|")
    for name, differences in rows.items():
        print(f"| {name} | {len(differences)} | {max(differences):.1g} |")


if __name__ == "__main__":
    main()
