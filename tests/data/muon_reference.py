#!/usr/bin/env python3
"""Makes muon_reference.json: the weights after 10 steps of Muon (Jordan et al. 2024, scaled as in arXiv 2502.16982) in
float64 by numpy, of fused matrices whose parts are orthogonalized by themselves.

  python3 tests/data/muon_reference.py tests/data       # numpy

Weights and gradients are the congruential numbers of tests/plugins/optimizers/stepped_matrix.hpp. A fused matrix is
taken apart into a list of matrices by row numbers and put together again.
"""
import json, pathlib, sys
import numpy as np

STEPS = 10


def numbers(seed, count):
    state, out = seed * 2 + 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        out.append(float(np.float32((state >> 40) / 2 ** 23 - 1)))
    return np.array(out)


def newton_schulz(x, iterations=5):
    if x.shape[0] > x.shape[1]:
        return newton_schulz(x.T, iterations).T
    x = x / np.linalg.norm(x)
    for _ in range(iterations):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x


def run(rows, columns, parts, together, momentum=0.95, decay=0.1, scale=0.5):
    own = together or rows // parts
    rows_of = [[row for row in range(rows) if row // own % parts == part] for part in range(parts)]
    w = numbers(1, rows * columns).reshape(rows, columns)
    m = np.zeros_like(w)
    for step in range(1, STEPS + 1):
        g, lr = scale * numbers(100 + step, rows * columns).reshape(rows, columns), 0.01 / step
        m = momentum * m + g
        w = (1 - lr * decay) * w
        for mine in rows_of:
            w[mine] -= lr * 0.2 * np.sqrt(max(len(mine), columns)) * newton_schulz((g + momentum * m)[mine])
    return {"rows": rows, "columns": columns, "split_parts": parts, "split_rows": together, "weight": w.ravel().tolist()}


if __name__ == "__main__":
    cases = {"heads in turns": run(24, 10, 3, 4), "one after the other": run(18, 7, 3, 0), "two wide": run(8, 12, 2, 0),
             "tall parts": run(36, 5, 3, 6)}
    text = ",\n".join("%s: %s" % (json.dumps(name), json.dumps(case)) for name, case in cases.items())
    (pathlib.Path(sys.argv[1]) / "muon_reference.json").write_text("{\n" + text + "\n}\n")
