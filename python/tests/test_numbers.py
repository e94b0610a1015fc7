"""Numbers of the analysis against values that are worked by hand or stand in tables."""

import importlib.util
import math
import unittest
from dataclasses import replace

import support  # noqa: F401, it finds the package

MISSING = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]
if not MISSING:
    import numpy as np
    from scipy import stats

    from quench.analysis import intervals, statistics
    from quench.analysis.points import point_names
    from quench.values import canonical


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class IntervalsTest(unittest.TestCase):
    def blocks(self, values):
        return intervals.ItemSample(np.ones(len(values)), False, True).spread(np.array(values, float))

    def test_runs_are_three_cube_roots_long_and_six_of_them_fit(self):
        runs = {n: intervals.ItemSample(np.ones(n), False, True).run for n in (2, 11, 12, 60, 113, 1000)}
        self.assertEqual(runs, {2: 1, 11: 1, 12: 2, 60: 10, 113: 15, 1000: 30})
        self.assertAlmostEqual(intervals.ItemSample(np.ones(1000), False, True).degrees_of_freedom, 1.5 * (1000 / 30 - 1))
        self.assertEqual(intervals.ItemSample(np.ones(60), False, False).run, 1)  # questions are independent

    def test_the_variance_of_means_of_runs(self):
        # runs of 2: of the 11 ten are 1/2 and the middle one is 1, so Σ (run − mean)² is 1/4, and 2 · 1/4 / (11 · 10) = 1/220
        got = self.blocks([0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0])
        self.assertAlmostEqual(got.stderr, math.sqrt(1 / 220), 13)
        self.assertAlmostEqual(got.degrees_of_freedom, 7.5)
        self.assertAlmostEqual(got.interval[1], 0.5 + intervals.t_quantile(7.5) * math.sqrt(1 / 220), 13)
        # of 11 neighbours 5 are equal: no correlation. Runs of 2 are 1/2 but for five: Σ is 5/4, the variance 2 · 5/4 / 110
        self.assertAlmostEqual(self.blocks([0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]).stderr, math.sqrt(1 / 44), 13)

    def test_runs_are_of_what_neighbours_do_not_tell(self):
        # 8 neighbours are equal, 3 are not: r = 5/12, and with (1 + 5/3)/12 it is φ = 23/36
        values, phi = [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1], 23 / 36
        q, s = (1 - phi) / 2, (1 + phi) / 2
        runs = [-q, (s - q) / 2, (s + q) / 2, q, (q - s) / 2, -(s + q) / 2, -q, (s - q) / 2, (s + q) / 2, q]
        squares = sum((run - s / 11) ** 2 for run in runs)
        self.assertAlmostEqual(self.blocks(values).stderr, math.sqrt(11 / 12 * (2 * squares / 90) / (1 - phi) ** 2), 12)
        self.assertAlmostEqual(intervals.spread_of("items", values).stderr, math.sqrt(3 / 11 / 12), 12)

    def test_a_correlation_close_to_1_is_taken_for_less(self):
        self.assertAlmostEqual(self.blocks([0] * 6 + [1] * 6).stderr, 0.339152, 5)
        self.assertEqual(self.blocks([0.25] * 12).stderr, 0)

    def test_the_mean_over_documents_is_weighted_by_their_positions(self):
        # (5 · 1 + 5 · 4)/15 = 5/3; without a short one 24/14, without a long one 21/13: 1/21 and 2/39 away
        sizes, sums = np.array([1, 2] * 5, float), np.array([1, 4] * 5, float)
        got = intervals.ItemSample(sizes, True, True).spread(sums)
        self.assertAlmostEqual(got.mean, 5 / 3, 14)
        self.assertAlmostEqual(got.stderr, math.sqrt(0.9 * 5 * (1 / 21 ** 2 + 4 / 39 ** 2)), 13)
        self.assertAlmostEqual(got.degrees_of_freedom, 8)
        self.assertEqual(got.sample, "10 documents")
        equal = intervals.ItemSample(np.full(10, 3.0), True, True).spread(sums)  # independent values
        self.assertAlmostEqual(equal.stderr, intervals.spread_of("items", sums).stderr / 3, 13)
        self.assertAlmostEqual(equal.degrees_of_freedom, 9)

    def test_documents_count_where_all_records_have_the_same_and_they_are_enough(self):
        def record(documents=10, items=20, **more):
            return {"items": [4.0] * items, "unit": "nats/token", "direction": -1, "index": 0, "details": {
                "documents": {"scored": [8.0] * documents, "nll": [32.0] * documents, **more}}}
        self.assertTrue(intervals.common_sample([record(), record()]).by_documents)
        for one, other in ((record(), record(scored=[8.0] * 9 + [7.0])), (record(), record(nll=[32.0] * 9 + ["much"])),
                           (record(9), record(9))):
            self.assertFalse(intervals.common_sample([one, other]).by_documents)
        self.assertIsNone(intervals.common_sample([record(9), record(9, items=19)]))

    def test_resamples_draw_as_many_units_as_there_are(self):
        sample = intervals.ItemSample(np.ones(60), False, True)
        means = sample.resampled_means(np.stack([np.ones(60), np.arange(60.0)]))
        self.assertEqual(means.shape, (intervals.RESAMPLES, 2))
        self.assertTrue((means[:, 0] == 1).all())
        self.assertAlmostEqual(means[:, 1].mean(), 29.5, 12)
        self.assertTrue((sample.resampled_means(np.stack([np.ones(60), np.arange(60.0)])) == means).all())

    def test_quantiles_leave_out_equal_shares_of_the_resamples(self):
        spread = intervals.Spread("items", 9, 20.0, degrees_of_freedom=1e9, resampled=np.arange(1.0, 40))
        np.testing.assert_allclose(spread.at(0.5), (10, 30), rtol=1e-6)
        self.assertIsNone(spread.at(0.95))  # too few lie outside

    def test_quantiles_of_resamples_are_stretched_to_those_of_t_within_limits(self):
        spread = intervals.Spread("items", 9, 20.0, degrees_of_freedom=4.0, resampled=np.arange(1.0, 40), stretch=1.5)
        far = 10 * 1.5 * stats.t.ppf(0.75, 4) / stats.norm.ppf(0.75)
        np.testing.assert_allclose(spread.at(0.5), (20 - far, 20 + far))
        self.assertEqual(replace(spread, limits=(10.0, 25.0)).at(0.5), (10, 25))

    def test_a_statistic_that_is_a_mean_has_the_interval_of_a_mean(self):
        draw = np.random.default_rng(1)
        noise = draw.standard_normal(113)
        series = np.array([noise[0]] + [0.6 * one + other for one, other in zip(noise, noise[1:])]) + 3
        sizes = draw.geometric(1 / 20, 40).astype(float)
        for sample, sums in ((intervals.ItemSample(np.ones(113), False, True), series), (intervals.ItemSample(np.ones(113), False, False), series),
                             (intervals.ItemSample(sizes, True, True), sizes * draw.standard_normal(40))):
            wanted, both = sample.spread(sums).among(12), np.stack([sums, sums + sample.sizes])
            got = sample.spread_of_statistic(both, lambda means: means @ [-3, 1], sample.resampled_means(both) @ [-3, 1]).among(12)
            self.assertAlmostEqual(got.mean, 1 - 2 * wanted.mean, 12)
            for name in ("stderr", "detectable"):  # 3999 resamples know a deviation to 1.1 %; lengths of documents vary in them
                self.assertAlmostEqual(getattr(got, name) / getattr(wanted, name), 2, delta=0.1)
            for name, most in (("interval", 0.08), ("simultaneous", 0.2)):
                for one, other in zip(getattr(got, name), reversed(getattr(wanted, name))):
                    self.assertAlmostEqual((one - got.mean) / (wanted.mean - other), 2, delta=2 * most)

    def test_where_no_unit_moves_a_statistic_its_resamples_count_as_of_independent_runs(self):
        sample = intervals.ItemSample(np.ones(60), False, True)
        sums = np.stack([np.arange(60.0), np.arange(60.0) + 100])
        for statistic in (lambda means: np.sign(means[..., 1] - means[..., 0]), lambda means: np.full(means.shape[:-1], np.nan)):
            self.assertAlmostEqual(sample.stretch(sums, statistic), math.sqrt(60 / 50))

    def test_the_smallest_detectable_effect_is_that_of_tables_of_power(self):
        # Cohen's tables and G*Power, two-sided at 5 %, power 80 %: n = 10 needs d = 0.996, n = 34 needs d = 0.495
        self.assertAlmostEqual(intervals.detectable_errors(9) / (0.996 * math.sqrt(10)), 1, 3)
        self.assertAlmostEqual(intervals.detectable_errors(33) / (0.495 * math.sqrt(34)), 1, 2)
        self.assertAlmostEqual(intervals.detectable_errors(1e6), 2.801585, 4)  # of a normal distribution

    def test_quantiles_of_t_are_those_of_tables(self):
        for degrees, value in ((1, 12.7062), (2, 4.30265), (9, 2.26216), (112, 1.98137)):
            self.assertAlmostEqual(intervals.t_quantile(degrees), value, 4)

    def test_fewer_than_two_values_have_no_interval(self):
        self.assertIsNone(intervals.spread_of("draws", [0.1]).interval)
        self.assertEqual(intervals.spread_of("draws", [0.1, 0.1, 0.1]).deviation, 0)


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class StatisticsTest(unittest.TestCase):
    def test_rank_correlations(self):
        x = [1, 2, 3, 4, 5]
        self.assertAlmostEqual(float(statistics.rank_correlation(x, [1, 8, 27, 64, 125])), 1)
        self.assertAlmostEqual(float(statistics.rank_correlation(x, [20, 10, 40, 30, 50])), 0.8)  # 1 − 24/120
        self.assertAlmostEqual(float(statistics.rank_correlation([5, 1, 5, 9], [2.5, 1, 2.5, 4])), 1)
        self.assertTrue(np.isnan(statistics.rank_correlation(x, [1] * 5)))
        self.assertTrue(np.isnan(statistics.rank_correlation([1, 2], [1, 2])))

    def test_slopes_and_shares(self):
        self.assertAlmostEqual(statistics.slope(np.array([0.0, 1, 2]), np.array([1.0, 2, 6])), 2.5)
        self.assertTrue(np.isnan(statistics.slope(np.ones(3), np.array([0.0, 1, 2]))))

    def test_the_last_crossing_counts(self):
        losses = np.array([3.0, 2, 4, 2])  # falls through 2.5 twice
        first, share = statistics.last_crossing(losses, 2.5)
        self.assertEqual((int(first), float(share)), (2, 0.75))
        self.assertAlmostEqual(float(statistics.value_at(np.array([0.0, 0, 10, 20]), first, share)), 17.5)
        self.assertEqual(int(statistics.last_crossing(losses, 1.9)[0]), -1)
        self.assertEqual(int(statistics.last_crossing(losses, 2)[0]), 3)


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class PointNamesTest(unittest.TestCase):
    def names(self, *points):
        found = point_names(list(points))
        return [found[canonical(point)] for point in points]

    def test_points_are_named_by_what_differs(self):
        self.assertEqual(self.names({"train.lr": {"peak": 0.1, "warmup": 50}}, {"train.lr": {"peak": 0.2, "warmup": 50}}),
                         ["peak 0.1", "peak 0.2"])
        self.assertEqual(self.names({"train.lr.peak": 0.1}), [""])
        self.assertEqual(self.names(3, 4), ["job 3", "job 4"])
        self.assertEqual(self.names({"a.peak": 1}, {"b.peak": 1}), ["a.peak 1", "b.peak 1"])

    def test_a_plugins_name_stands_for_what_it_is_given(self):
        self.assertEqual(self.names({"train.optimizer": {"adamw": {"weight_decay": 0.1}}},
                                    {"train.optimizer": {"muon": {"weight_decay": 0.1}}}), ["adamw", "muon"])
        self.assertEqual(self.names({"train.optimizer": {"adamw": {"weight_decay": 0.1, "betas": [0.9, 0.95]}}},
                                    {"train.optimizer": {"adamw": {"weight_decay": 1, "betas": [0.9, 0.95]}}},
                                    {"train.optimizer": {"muon": {}}}), ["adamw, weight_decay 0.1", "adamw, weight_decay 1", "muon"])

    def test_a_key_that_some_points_do_not_give_is_said_of_those_that_do(self):
        self.assertEqual(self.names({"train.lr": {"schedule": "cosine"}}, {"train.lr": {"schedule": "wsd", "decay_steps": 9}},
                                    {"train.lr": {"schedule": "wsd", "decay_steps": 9, "decay": "1-sqrt"}}),
                         ["schedule cosine", "decay_steps 9, schedule wsd", "decay 1-sqrt, decay_steps 9, schedule wsd"])


if __name__ == "__main__":
    unittest.main()
