import importlib.util
import math
import random
import tempfile
import unittest

import made_run
import quench

MISSING = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]


def law(size, tokens, bits, lr, power=False):
    return 0.3 * tokens ** 0.4 / size ** 0.5 * (bits ** -2.0 if power else math.exp(-bits / 0.8)) * lr ** -0.1


def grid(power=False, noise=0.0, seeds=(3,)):
    """(errors, covariates, seeds) over a grid of everything."""
    made = random.Random(1)
    rows = [(law(n, d, b, lr, power) * math.exp(noise * made.gauss(0, 1)), n, d, b, lr, seed) for seed in seeds
            for n in (1e6, 4e6, 3e7) for d in (1e8, 1e9, 2e10) for b in (3, 4) for lr in (1e-3, 1e-5)]
    errors, n, d, b, lr, own = zip(*rows)
    return errors, {"size": n, "tokens": d, "bits": b, "lr": lr}, own


@unittest.skipIf(MISSING, "this Python has no " + " and no ".join(MISSING))
class ScalingTest(unittest.TestCase):
    def setUp(self):
        from quench.analysis import scaling
        self.scaling = scaling

    def assertClose(self, found, wanted, delta=1e-9):
        for one, other in zip(found, wanted):
            self.assertAlmostEqual(one, other, delta=delta)

    def test_a_law_without_noise_is_found(self):
        found = self.scaling.fit(*grid())
        self.assertEqual(found.terms, ["size", "tokens", "bits", "lr"])
        self.assertClose(found.coefficients[0], (-0.5, 0.4, -1 / 0.8, -0.1))
        self.assertAlmostEqual(found.r2[0], 1.0)
        self.assertLess(found.r2_without_lr[0], 0.999)
        self.assertClose(self.scaling.fit(*grid(power=True), bits="power").coefficients[0], (-0.5, 0.4, -2.0, -0.1))

    def test_noisy_values_are_fitted_as_scipy_fits_the_law_itself(self):
        import numpy as np
        from scipy.optimize import curve_fit
        errors, of, seeds = grid(noise=0.3)
        x = np.array([of["size"], of["tokens"], of["bits"], of["lr"]])

        def logarithm(x, c, a, b, g, e):
            return np.log(c * x[1] ** b / x[0] ** a * np.exp(-x[2] / g) * x[3] ** e)
        wanted = curve_fit(logarithm, x, np.log(errors), p0=(0.5, 0.4, 0.3, 1.0, -0.05))[0]
        self.assertClose(self.scaling.fit(errors, of, seeds).coefficients[0], (-wanted[1], wanted[2], -1 / wanted[3], wanted[4]), 1e-5)

    def test_one_term_is_the_slope_and_the_correlation_of_scipy(self):
        import numpy as np
        from scipy.stats import linregress
        errors, of, seeds = grid(noise=0.5)
        found = self.scaling.fit(errors, {"tokens": of["tokens"]}, seeds)
        wanted = linregress(np.log(of["tokens"]), np.log(errors))
        self.assertClose((found.coefficients[0, 0], found.r2[0], found.r2_without_lr[0]), (wanted.slope, wanted.rvalue ** 2, wanted.rvalue ** 2))

    def test_the_interval_is_that_of_the_fits_of_the_seeds(self):
        from scipy.stats import t, sem
        found = self.scaling.fit(*grid(noise=0.4, seeds=(1, 2, 5)))
        self.assertEqual(found.seeds, [1, 2, 5])
        mean, low, high = found.interval("lr")
        self.assertClose((low, high), t.interval(0.95, 2, loc=mean, scale=sem(found.coefficients[:, 3])))
        self.assertEqual(self.scaling.fit(*grid()).interval("lr")[1:], (None, None))

    def test_a_rate_that_follows_the_tokens_hides_no_effect_of_tokens(self):
        errors, of, seeds = grid()
        decayed = [lr if d < 1e10 else 1e-6 for d, lr in zip(of["tokens"], of["lr"])]
        errors = [law(n, 1e9, b, lr) for n, b, lr in zip(of["size"], of["bits"], decayed)]  # of the rate alone
        alone = self.scaling.fit(errors, {**{k: of[k] for k in ("size", "tokens", "bits")}}, seeds)
        beside = self.scaling.fit(errors, {**of, "lr": decayed}, seeds)
        self.assertGreater(alone.coefficients[0, 1], 0.05)
        self.assertAlmostEqual(beside.coefficients[0, 1], 0.0)

    def test_what_has_no_logarithm_is_counted_and_what_does_not_vary_is_told(self):
        errors, of, seeds = grid()
        found = self.scaling.fit([-1.0, *errors[1:]], {**of, "lr": [1e-3] * len(errors)}, seeds)
        self.assertEqual((found.dropped, found.used, found.constant), (1, len(errors) - 1, ["lr"]))

    def test_too_little_to_tell_terms_apart_is_refused(self):
        for given, wanted in ((([1, 2], {"size": [1, 2]}, [0, 0]), "do not tell"), (([1, 2, 3], {"size": [1, 1, 1]}, [0] * 3), "no term"),
                              (([1, 2, 3, 4, 5], {"size": [1, 2, 3, 4, 5], "tokens": [2, 4, 6, 8, 10]}, [0] * 5), "do not tell"),
                              (([1, 2], {"width": [1, 2]}, [0, 0]), "width")):
            with self.assertRaisesRegex(ValueError, wanted):
                self.scaling.fit(*given)

    def test_a_run_is_fitted_by_method_and_without_averages(self):
        run = made_run.MadeRun()
        for seed in (0, 1):
            for model in ("a" * 10, "b" * 2000):
                run.model = model
                for step, lr in ((1000, 3e-3), (2000, 3e-3), (4000, 1e-5)):
                    weights = run.weights(model[0], step, lr=lr, sweep={"seed": seed}, job=seed)
                    size = run.loss(weights)["details"]["stored_bytes"]
                    for bits in (3, 4):
                        run.loss(weights, "rtn", bits, delta=law(size, step * 2097152, bits, lr))
        with tempfile.TemporaryDirectory() as folder:
            run.write(folder, {})
            found = quench.load(folder).scaling(quantizer="rtn")
            self.assertEqual(found.seeds, [0, 1])
            self.assertClose(found.coefficients[0], (-0.5, 0.4, -1 / 0.8, -0.1), 1e-6)
            with self.assertRaisesRegex(ValueError, "no method"):
                quench.load(folder).scaling(quantizer="gptq")


if __name__ == "__main__":
    unittest.main()
