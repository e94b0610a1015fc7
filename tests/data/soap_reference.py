#!/usr/bin/env python3
"""Makes soap_reference.json: the weights after 20 steps of SOAP (arXiv 2409.11321, algorithms 3 and 4) in float64 by
numpy, whose eigenvectors and QR are LAPACK's.

  python3 tests/data/soap_reference.py tests/data       # numpy

Weights and gradients are the congruential numbers of tests/plugins/optimizers/soap_test.cpp. The first step makes the
bases and moves nothing, as in the authors' program. A side without a basis is `None`. Sizes are such that each first
factor has full rank: in a null space every basis is one of eigenvectors.
"""
import json, pathlib, sys
import numpy as np

STEPS = 20


def numbers(seed, count):
    state, out = seed * 2 + 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        out.append(float(np.float32((state >> 40) / 2 ** 23 - 1)))
    return np.array(out)


class Side:
    def __init__(self, size):
        self.p, self.q = np.zeros((size, size)), None

    def observe(self, gradient, beta):
        self.p = beta * self.p + (1 - beta) * gradient @ gradient.T

    def begin(self):
        values, vectors = np.linalg.eigh(self.p)
        self.q = vectors[:, ::-1]

    def refresh(self):
        order = np.argsort(-np.diag(self.q.T @ self.p @ self.q), kind="stable")
        self.q = np.linalg.qr(self.p @ self.q[:, order])[0]
        return order


def run(rows, columns, left, right, beta1=0.9, beta2=0.95, epsilon=1e-8, decay=0.1, frequency=5, scale=0.5):
    w = numbers(1, rows * columns).reshape(rows, columns)
    m, v = np.zeros_like(w), np.zeros_like(w)
    left, right = (Side(rows) if left else None), (Side(columns) if right else None)

    def into(x):
        x = left.q.T @ x if left else x
        return x @ right.q if right else x

    def out(x):
        x = left.q @ x if left else x
        return x @ right.q.T if right else x

    for step in range(1, STEPS + 1):
        g, lr, k = scale * numbers(100 + step, rows * columns).reshape(rows, columns), 0.01 / step, step - 1
        if k > 0:
            turned = into(g)
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * turned ** 2
            n = (into(m) / (1 - beta1 ** k)) / (np.sqrt(v / (1 - beta2 ** k)) + epsilon)
            w = (1 - lr * decay) * w - lr * out(n)
        if left:
            left.observe(g, beta2)
        if right:
            right.observe(g.T, beta2)
        if k == 0:
            for side in (left, right):
                if side:
                    side.begin()
        elif k % frequency == 0:
            if left:
                v = v[left.refresh(), :]
            if right:
                v = v[:, right.refresh()]
    return {"rows": rows, "columns": columns, "max_precond_dim": max(rows if left else 1, columns if right else 1),
            "weight": w.ravel().tolist()}


if __name__ == "__main__":
    cases = {"both sides": run(8, 8, True, True), "left alone": run(6, 10, True, False),
             "right alone": run(12, 7, False, True)}
    text = ",\n".join("%s: %s" % (json.dumps(name), json.dumps(case)) for name, case in cases.items())
    (pathlib.Path(sys.argv[1]) / "soap_reference.json").write_text("{\n" + text + "\n}\n")
