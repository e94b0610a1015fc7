"""What an intervention changes of the error, in the terms that make it up: ΔCE = gᵀδ + ½δᵀHδ + rest, on the tokens of `taylor`; beside it
what it changes of ΔCE on the whole text, of |δ|/|θ|, the length of the rounding over that of the weights, and of the bowl's steepness along
it: ½δᵀHδ = (|δ|/|θ|)² · steepness. Both are relative changes, of geometric means.
"""

import measures
import rules
import text

CONSTANT = {"branch": "trunk", "step": 1200}
ADAMW = {"point": "adamw.weight_decay=0.1", "step": 600}
PLATEAU = {"branch": "trunk", "step": 12000}
SHORT, LONG, CONSTANT_OF_BOTH = ({"point": "adamw.weight_decay=0.1", "branch": branch, "step": 1200} for branch in ("short", "long", "trunk"))
INTERVENTIONS = [  # (name, manifest, with it, without it)
    ("average near a plateau (LAWA 10 × 250)", "plateau_tiny", {**PLATEAU, "averaging": "lawa window=10 every=250"}, PLATEAU),
    ("decay of 3000 steps near a plateau", "plateau_tiny", {"branch": "late", "step": 12000}, PLATEAU),
    ("average (LAWA 5 × 25)", "annealing_tiny", {**CONSTANT_OF_BOTH, "averaging": "lawa every=25"}, CONSTANT_OF_BOTH),
    ("decay over half of the steps", "annealing_tiny", LONG, CONSTANT_OF_BOTH),
    ("decay over a tenth, beside half", "annealing_tiny", SHORT, LONG),
    ("SAM, after a decay over a tenth", "annealing_tiny", {**SHORT, "point": "sam.rho=0.1 sam.weight_decay=0.1"}, SHORT),
    ("SAM in a decay over a tenth alone", "late_sam_tiny", {"branch": "flat", "step": 1200}, {"branch": "plain", "step": 1200}),
    ("decay as 1−√, beside linear", "cooldowns_tiny", {"branch": "root", "step": 1200}, {"branch": "linear", "step": 1200}),
    ("decay to a tenth, beside to 0", "cooldowns_tiny", {"branch": "tenth", "step": 1200}, {"branch": "linear", "step": 1200}),
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
    values = measures.values_of(results)
    out = {}
    for term in (*TERMS, "error"):
        of_a, of_b = (values.measure(weights, term, method) for weights in (a, b))
        out[term] = measures.np.array([of_a[seed] - of_b[seed] for seed in sorted(set(of_a) & set(of_b))])
    return out


def relative(results, a, b, method, measure):
    """ln of what |δ|/|θ|, or the steepness, is with the intervention over what it is without, of the seeds; None where it was not recorded."""
    values = measures.values_of(results)
    try:
        of_a, of_b = (values.measure(weights, measure, method) for weights in (a, b))
    except measures.Missing:
        return None
    return measures.np.array([of_a[seed] - of_b[seed] for seed in sorted(set(of_a) & set(of_b))])


def cell(values, unit="nats/token"):
    """Mean and 95 % interval, bold where it leaves out 0."""
    low, high = rules.interval(values)
    shown = f"{text.in_unit(values.mean(), unit)} {text.interval((low, high), unit)}"
    return f"**{shown}**" if low > 0 or high < 0 else shown


def table(folder):
    """A row for each intervention and way of rounding."""
    rows = []
    for name, manifest, a, b in INTERVENTIONS:
        for method in METHODS:
            found = differences(folder[manifest], a, b, method)
            beside = [relative(folder[manifest], a, b, method, measure) for measure in ("log_distance", "log_steepness")]
            rows.append([name, method.replace("bits=", ""), str(len(found["change"])), *map(cell, found.values()),
                         *("not recorded" if one is None else cell(one, "ln") for one in beside)])
    return text.markdown(["intervention", "rounding", "seeds", *TERMS.values(), "ΔCE, whole text", "|δ|/|θ|".replace("|", "\\|"), "steepness"], rows)
