"""λ₁·η along a run: the largest eigenvalue of the Hessian times the learning rate at the checkpoint. Gradient descent is stable below 2; AdamW
divides each step by the size of its gradients, so that its border is another and only the course says something.
"""

import measures
import rules
import text


def products(results):
    """[(branch, step, λ₁ of the seeds, λ₁·η of the seeds)] where both are known, of one branch after the other."""
    values = measures.values_of(results)
    out = []
    for point, branch, averaging, step, method, quantity in sorted(values.of):
        if quantity == "hessian" and not averaging:
            eigenvalue, rate = (values.of.get((point, branch, "", step, method, name), {}) for name in ("hessian", "lr"))
            seeds = sorted(set(eigenvalue) & set(rate))
            if seeds:
                found = measures.np.array([eigenvalue[seed] for seed in seeds])
                out.append((branch, step, found, found * [rate[seed] for seed in seeds]))
    return out


def _digits(value):
    return f"{value:.3g}".replace("-", "−")


def table(results):
    rows = []
    for branch, step, eigenvalue, product in sorted(products(results), key=lambda row: (row[0] != "trunk", row[1])):
        ends = f"[{', '.join(_digits(1000 * end) for end in rules.interval(product))}]" if len(product) > 1 else "none"
        rows.append(["constant" if branch == "trunk" else "end of a decay", str(step), str(len(product)), _digits(eigenvalue.mean()), _digits(1000 * product.mean()), ends])
    return text.markdown(["learning rate", "step", "seeds", "λ₁", "λ₁·η, thousandths", "95 %"], rows) if rows else "Not measured."
