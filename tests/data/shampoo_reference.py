#!/usr/bin/env python3
"""Makes shampoo_reference.json: the weights after 12 steps of Shampoo (arXiv 2309.06497, algorithm 2 with grafting to
Adam) in float64 by numpy, whose eigenvalues are LAPACK's.

  python3 tests/data/shampoo_reference.py tests/data       # numpy

Weights and gradients are the congruential numbers of tests/plugins/optimizers/stepped_matrix.hpp. A side without a
factor is `None`; the root of the other one is then 2. Of a side that is longer than steps times the other one the factor
has eigenvalues of 0, whose roots ε alone decides.
"""
import json, pathlib, sys
import numpy as np

STEPS = 12


def numbers(seed, count):
    state, out = seed * 2 + 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        out.append(float(np.float32((state >> 40) / 2 ** 23 - 1)))
    return np.array(out)


def inverse_root(p, epsilon, root):
    values, vectors = np.linalg.eigh(p + epsilon * np.eye(len(p)))
    return vectors @ np.diag(values ** (-1 / root)) @ vectors.T


def run(rows, columns, left, right, beta1=0.9, beta2=0.95, epsilon=1e-8, factor_epsilon=1e-6, decay=0.1, frequency=3, scale=0.5):
    w = numbers(1, rows * columns).reshape(rows, columns)
    m, v = np.zeros_like(w), np.zeros_like(w)
    factors = {"left": np.zeros((rows, rows)) if left else None, "right": np.zeros((columns, columns)) if right else None}
    roots = {}
    for step in range(1, STEPS + 1):
        g, lr = scale * numbers(100 + step, rows * columns).reshape(rows, columns), 0.01 / step
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        for side, square in (("left", g @ g.T), ("right", g.T @ g)):
            if factors[side] is not None:
                factors[side] = beta2 * factors[side] + (1 - beta2) * square
                if step % frequency == 0:
                    roots[side] = inverse_root(factors[side] / (1 - beta2 ** step), factor_epsilon, 4 if left and right else 2)
        mean = m / (1 - beta1 ** step)
        move = mean / (np.sqrt(v / (1 - beta2 ** step)) + epsilon)
        if step >= frequency:
            direction = roots.get("left", np.eye(rows)) @ mean @ roots.get("right", np.eye(columns))
            move = np.linalg.norm(move) / np.linalg.norm(direction) * direction
        w = (1 - lr * decay) * w - lr * move
    return {"rows": rows, "columns": columns, "max_precond_dim": max(rows if left else 1, columns if right else 1),
            "factor_epsilon": factor_epsilon, "precondition_frequency": frequency, "weight": w.ravel().tolist()}


if __name__ == "__main__":
    cases = {"both sides": run(8, 8, True, True), "wide": run(5, 12, True, True), "every step": run(6, 9, True, True, frequency=1),
             "left alone": run(6, 10, True, False), "right alone": run(12, 7, False, True)}
    text = ",\n".join("%s: %s" % (json.dumps(name), json.dumps(case)) for name, case in cases.items())
    (pathlib.Path(sys.argv[1]) / "shampoo_reference.json").write_text("{\n" + text + "\n}\n")
