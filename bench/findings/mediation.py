"""What an intervention changes of the error, in the terms that make it up: ΔCE = gᵀδ + ½δᵀHδ + rest, on the tokens of `taylor`."""

import measures
import rules
import text

CONSTANT = {"branch": "trunk", "step": 1200}
ADAMW = {"point": "adamw.weight_decay=0.1", "step": 600}
INTERVENTIONS = [  # (name, manifest, with it, without it)
    ("average (LAWA 5 × 50)", "sharpness_tiny", {**CONSTANT, "averaging": "lawa every=50"}, CONSTANT),
    ("decay of 300 steps", "sharpness_tiny", {"branch": "late", "step": 1200}, CONSTANT),
    ("SAM", "sam_tiny", {"point": "sam.rho=0.1 sam.weight_decay=0.1", "step": 600}, ADAMW),
    ("reverse of SAM", "sharp_minima_tiny", {"point": "sam.direction=descent sam.rho=0.1 sam.weight_decay=0.1", "step": 600}, ADAMW),
    ("penalty on the trace", "trace_penalty_tiny",
     {"point": "trace_penalty.radius=0.01 trace_penalty.strength=0.0003 trace_penalty.weight_decay=0.1", "step": 600}, ADAMW),
    ("noise injection", "noise_injection_tiny", {"point": "noise_injection.sigma=0.2 noise_injection.weight_decay=0.1", "step": 600}, ADAMW),
    ("QAT at 3 bits", "qat_tiny", {"point": "qat.bits=3 qat.group_size=128 qat.weight_decay=0.1", "step": 600}, ADAMW),
]
METHODS = ["gptq bits=3", "rtn bits=3", "gptq bits=4", "rtn bits=4"]
TERMS = {"change": "ΔCE", "slope": "gᵀδ", "quadratic": "½δᵀHδ", "rest": "rest"}


def differences(results, a, b, method):
    """{term: differences of the seeds}."""
    values = measures.Values(results)
    out = {}
    for term in TERMS:
        of_a, of_b = (values.measure(weights, term, method) for weights in (a, b))
        out[term] = measures.np.array([of_a[seed] - of_b[seed] for seed in sorted(set(of_a) & set(of_b))])
    return out


def table(folder):
    """Mean and 95 % interval of each term; bold where the interval leaves out 0."""
    rows = []
    for name, manifest, a, b in INTERVENTIONS:
        for method in METHODS:
            found = differences(folder[manifest], a, b, method)
            cells = []
            for values in found.values():
                low, high = rules.interval(values)
                cell = f"{text.milli(values.mean())} {text.interval((low, high))}"
                cells.append(f"**{cell}**" if low > 0 or high < 0 else cell)
            rows.append([name, method.replace("bits=", ""), str(len(found["change"])), *cells])
    return text.markdown(["intervention", "rounding", "seeds", *TERMS.values()], rows)
