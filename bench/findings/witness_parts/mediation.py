"""The table of what interventions change of the error, in the terms that make it up."""

import numpy as np

from witness_parts.pages import differences, number, same
from witness_parts.values import change, error, interval, log_distance, log_steepness, paired, quadratic, rest, slope, vector

ADAMW = "adamw.weight_decay=0.1"
WITHOUT, TRUNK, PLATEAU = (ADAMW, "", "", 600), ("", "trunk", "", 1200), ("", "trunk", "", 12000)
KNOWN = {  # (file, with the intervention, without it); None: the other point of the sweep that has such values
    "average near a plateau (LAWA 10 × 250)": ("plateau_tiny", ("", "trunk", "lawa window=10 every=250", 12000), PLATEAU),
    "decay of 3000 steps near a plateau": ("plateau_tiny", ("", "late", "", 12000), PLATEAU),
    "average (LAWA 5 × 25)": ("annealing_tiny", (ADAMW, "trunk", "lawa every=25", 1200), (ADAMW, "trunk", "", 1200)),
    "decay over half of the steps": ("annealing_tiny", (ADAMW, "long", "", 1200), (ADAMW, "trunk", "", 1200)),
    "decay over a tenth, beside half": ("annealing_tiny", (ADAMW, "short", "", 1200), (ADAMW, "long", "", 1200)),
    "SAM, after a decay over a tenth": ("annealing_tiny", ("sam.rho=0.1 sam.weight_decay=0.1", "short", "", 1200), (ADAMW, "short", "", 1200)),
    "SAM in a decay over a tenth alone": ("late_sam_tiny", ("", "flat", "", 1200), ("", "plain", "", 1200)),
    "decay as 1−√, beside linear": ("cooldowns_tiny", ("", "root", "", 1200), ("", "linear", "", 1200)),
    "decay to a tenth, beside to 0": ("cooldowns_tiny", ("", "tenth", "", 1200), ("", "linear", "", 1200)),
    "average (LAWA 5 × 50)": ("sharpness_tiny", ("", "trunk", "lawa every=50", 1200), TRUNK),
    "decay of 300 steps": ("sharpness_tiny", ("", "late", "", 1200), TRUNK), "SAM": ("sam_tiny", None, WITHOUT),
    "reverse of SAM": ("sharp_minima_tiny", None, WITHOUT), "penalty on the trace": ("trace_penalty_tiny", None, WITHOUT),
    "noise injection": ("noise_injection_tiny", None, WITHOUT), "QAT at 3 bits": ("qat_tiny", None, WITHOUT)}
COLUMNS = {"ΔCE": change, "gᵀδ": slope, "½δᵀHδ": quadratic, "rest": rest, "ΔCE, whole text": error, r"\|δ\|/\|θ\|": log_distance,
           "steepness": log_steepness}
RELATIVE = (r"\|δ\|/\|θ\|", "steepness")  # changes of geometric means


def differences_of_seeds(files, intervention, rounding, measure):
    name, with_it, base = KNOWN[intervention]
    values, method = files[name].values, f"{rounding[:-1]}bits={rounding[-1]}"
    with_it = with_it or next(place for place, _, quantity in values if quantity == "change" and place != base)
    x = vector(paired(lambda p, q: p - q, measure(values, with_it, method), measure(values, base, method)))
    return x, len(x)


def cell(files, intervention, rounding, column):
    """(mean and interval, whether that leaves out 0, how many seeds)."""
    try:
        x, seeds = differences_of_seeds(files, intervention, rounding, COLUMNS[column])
    except KeyError:
        if column not in RELATIVE:
            raise
        return "not recorded", False, 0
    mean, low, high = (f"{number(100 * np.expm1(value))} %" if column in RELATIVE else number(1000 * value) for value in (x.mean(), *interval(x)))
    return f"{mean} [{low}, {high}]", interval(x)[0] > 0 or interval(x)[1] < 0, seeds


def check(work, pages):
    wanted = [(intervention, f"{name} {bits}") for intervention in KNOWN for bits in (3, 4) for name in ("gptq", "rtn")]
    for _, cells in pages["intervention", "rounding", "seeds"]:
        place = cells["intervention"], cells["rounding"]
        if place not in wanted:
            differences.append(f"mediation: {', '.join(place)} is not known, or stands there twice")
            continue
        wanted.remove(place)
        same("cells of the mediation table", f"mediation, {', '.join(place)}, seeds", cells["seeds"], str(cell(work.files, *place, "ΔCE")[2]))
        for column in COLUMNS:
            text, is_bold, _ = cell(work.files, *place, column)
            same("cells of the mediation table", f"mediation, {', '.join(place)}, {column}", cells.get(column), f"**{text}**" if is_bold else text)
    differences.extend(f"mediation: there is no {', '.join(place)}" for place in wanted)
