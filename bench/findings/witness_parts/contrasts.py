"""Rows of contrasts that `quench report` evaluated: over seeds, and over documents where a file has them; the pages show the files' numbers."""

import itertools
import re
from collections import defaultdict

import numpy as np
from scipy import stats

from witness_parts.pages import agreed, beyond, differences, number, same
from witness_parts.rows import equal_loss
from witness_parts.values import error, interval, largest_eigenvalue, loss, paired, quadratic, trace, vector

KINDS = {"items": "items", "draws": "draws", "jitter": "orders", "seeds": "seeds"}


def over_documents(scored, sums):
    """(mean, standard error) of Σ sums / Σ scored: the jackknife over documents (Quenouille, 1956; Tukey, 1958)."""
    keep = ~np.eye(len(scored), dtype=bool)
    without = np.array([sums[one].sum() / scored[one].sum() for one in keep])
    n = len(scored)
    return sums.sum() / scored.sum(), np.sqrt((n - 1) / n * ((without - sums.sum() / scored.sum()) ** 2).sum())


def side_places(values, side, of):
    """All (place, method) that a side of a contrast of a manifest selects."""
    quantities = {"hessian": "hessian", "hessian/trace": "hessian/trace", "taylor": "quadratic"}
    out = []
    for place, method, quantity in list(values):
        point, branch, averaging, step = place
        if quantity != quantities.get(of, "loss") or (of not in ("validation_loss", "hessian", "hessian/trace")) and method == "float":
            continue
        wanted = dict(side)
        wanted.pop("as", None)
        fits = True
        for key, value in wanted.items():
            some = value if isinstance(value, list) else [value]
            if key == "branch":
                fits &= branch in some
            elif key == "averaging":
                fits &= (averaging == "") if value == "none" else averaging.startswith(str(value))
            elif key.startswith("averaging."):
                fits &= any(f"{key.removeprefix('averaging.')}={one}" in averaging.split(" ") for one in some)
            elif key == "step":
                fits &= step in some
            elif key == "label":
                fits &= method in some
            elif key == "quantizer":
                fits &= (method == "float") if value == "none" else method.split(" ")[0] in some
            elif key in ("bits", "params.bits"):
                fits &= any(method.endswith(f"bits={one}") for one in some)
            else:
                name = key.removeprefix("sweep.train.").removeprefix("optimizer.")
                found = re.search(rf"(?:^| ){re.escape(name)}=(\S+)", point)
                text = found[1] if found else None
                fits &= (text is None) if value == "none" else text is not None and any(
                    text == str(one) or (re.fullmatch(r"[\d.e+-]+", text) is not None and isinstance(one, (int, float))
                                         and not isinstance(one, bool) and float(text) == float(one)) for one in some)
        if fits:
            out.append((place, method))
    return out


def contrast_values(values, contrast):
    """[(values of seeds, the (place, method) of both sides or None)] of the rows that a contrast of a manifest has."""
    of = contrast.get("of", "delta")
    measure = {"delta": error, "loss": loss, "validation_loss": lambda v, p, m: v[p, m, "loss"], "hessian": largest_eigenvalue,
               "hessian/trace": trace, "taylor": quadratic}[of]
    is_soup = contrast["a"] == "soup"
    a = side_places(values, {"averaging": "soup"} if is_soup else contrast["a"], of)
    b = [one for one in side_places(values, {"averaging": "none"}, of) if one[0][1] != "trunk"] if is_soup else side_places(values, contrast["b"], of)
    if is_soup:
        pairs = [(x, y) for x in a for y in b if x[1] == y[1]]
    elif contrast.get("at") == "equal_loss":
        lines = [sorted({(place[:3], method) for place, method in side}) for side in (a, b)]
        found = [equal_loss(values, x[0], y[0], x[1]) for x, y in itertools.product(*lines) if x[1] == y[1]]
        return [({seed: at[0] for seed, at in of_seed.items() if at is not None}, None) for of_seed in found]
    else:
        def last(side):
            steps = defaultdict(int)
            for place, _ in side:
                steps[place[:3]] = max(steps[place[:3]], place[3])
            return [(place, method) for place, method in side if place[3] == steps[place[:3]]]
        a = last(a) if contrast.get("at") == "last" else a
        match = contrast.get("match", ["bits", "checkpoint"])
        named = any(key in contrast[side] for side in "ab" for key in ("quantizer", "label", "bits", "params.bits"))
        sweeps = any(key.startswith("sweep.") for key in contrast["a"])
        pairs = []
        for x, y in itertools.product(a, b):
            same_bits = x[1].rpartition("bits=")[2] == y[1].rpartition("bits=")[2]
            fits = x[0][3] == y[0][3] or "step" in contrast["a"] or of == "taylor" and "step" not in match
            fits &= same_bits if "bits" in match else True
            fits &= x[1].split(" ")[0] == y[1].split(" ")[0] if "quantizer" in match or not named else True
            fits &= x[1] == y[1] if not named or "label" in match else True
            fits &= sweeps or x[0][0] == y[0][0]
            fits &= "branch" in contrast["a"] or "averaging" in contrast["a"] or x[0][1] == y[0][1]
            if fits:
                pairs.append((x, y))
    return [(paired(lambda p, q: p - q, measure(values, *x), measure(values, *y)), (x, y)) for x, y in pairs]


def text_row(read, of, pair, seeds):
    """(mean, standard error, degrees of freedom, documents) of a row over documents, the seeds averaged first."""
    scored, sums = read.scored, read.sums
    each = [[sums[place, method][seed] - (sums[place, "float"][seed] if of == "delta" else 0) for place, method in pair] for seed in seeds]
    mean, error = over_documents(scored, np.mean([a - b for a, b in each], 0))
    return mean, error, scored.sum() ** 2 / (scored ** 2).sum() - 1, len(scored)


def check_items(texts, name, found, where):
    """`name` of a row says its method, and its step where there are several."""
    of_name = [row for (step, method), row in texts.items() if name.endswith(method) and (f"step {step}," in name or "step" not in name)]
    if len(of_name) != 1:
        differences.append(f"{where}: {len(of_name)} rows over documents have that name")
        return
    mean, error, freedom, n = of_name[0]
    many = found["items.comparisons"]
    wanted = {"n": n, "mean": mean, "stderr": error, "freedom": freedom,
              **{name: mean + sign * stats.t.ppf(1 - 0.025 / level, freedom) * error
                 for name, sign, level in (("low", -1, 1), ("high", 1, 1), ("low_all", -1, many), ("high_all", 1, many))}}
    wrong = [name for name, value in wanted.items() if f"items.{name}" in found
             and abs(found[f"items.{name}"] - value) > 1e-8 + 1e-6 * abs(value)]
    if wrong:
        differences.append(f"{where}: {', '.join(wrong)} over documents differ; worked out are {mean:.9g} ± {error:.9g}")
    else:
        agreed["rows of contrasts over documents"] += 1


def check_recorded(work):
    """Rows over seeds, and over documents, as the files have them."""
    for claim in work.claims:
        for test in claim.table.get("tests", []):
            if "contrasts" not in test or test["manifest"] not in work.files:
                continue
            file = work.files[test["manifest"]]
            asked = [(contrast, *found) for contrast in test["contrasts"] for found in contrast_values(file.values, contrast)]
            worked_out = [vector(found) for _, found, _ in asked]
            texts, units = {}, file.units.get("loss")
            for contrast, found, pair in asked if units and units.kind == "document" else []:
                if pair and contrast.get("of", "delta") in ("delta", "loss", "validation_loss"):
                    (place, method), _ = pair
                    texts[place[3], method] = text_row(units, contrast.get("of", "delta"), pair, sorted(found))
            for key, numbers in file.contrasts.items():
                if key[0] != test["id"]:
                    continue
                where = f"test {test['id']}, {key[1]}, {key[2]}"
                if texts and "items.n" in numbers:
                    check_items(texts, key[2], numbers, where)
                for kind in ("items", "draws", "jitter"):
                    beyond[f"intervals over {kind}, for which raw records are needed"] += f"{kind}.n" in numbers and not (kind == "items" and texts)
                if "seeds.n" in numbers:
                    check_seeds(worked_out, numbers, where)


def check_seeds(worked_out, found, where):
    near = min(worked_out, key=lambda x: abs(x.mean() - found["seeds.mean"]), default=None)
    if near is None:
        differences.append(f"{where}: nothing worked out")
        return
    wanted = {"mean": near.mean(), "stderr": stats.sem(near), **dict(zip(("low", "high"), interval(near))),
              **dict(zip(("low_all", "high_all"), interval(near, 1 - 0.05 / found["seeds.comparisons"])))}
    wrong = [name for name, value in wanted.items() if f"seeds.{name}" in found
             and abs(found[f"seeds.{name}"] - value) > 1e-7 + 1e-6 * abs(value)]
    if wrong or found["seeds.n"] != len(near):
        differences.append(f"{where}: the file has a mean of {found['seeds.mean']:.9g} over {found['seeds.n']:.0f} seeds, worked "
                           f"out are {near.mean():.9g} over {len(near)}; {', '.join(wrong)} differ")
    else:
        agreed["rows of contrasts over seeds"] += 1


def in_unit(value, unit):
    return f"{number(100 * value)} %" if unit == "%" else number(1000 * value if unit == "nats/token" else value)


def lines_of(test, key, found, date):
    """The lines of a page that show a row of a contrast, one for each kind of sample."""
    kinds = [kind for kind in KINDS if f"{kind}.n" in found]
    name = ", ".join(word for word in key[2].split(", ") if "bits=" not in key[2] or not word.endswith(" bits")).replace("bits=", "")
    if not kinds:
        return [{"test": test, "contrast": key[1], "row": name, "over": "one run", "mean": in_unit(found["value"], found["unit"]), "95 %": "none",
                 "all rows at once": "none", "0 is": "across"}]
    sides = set()
    for kind in kinds:
        low, high = (found.get(f"{kind}.{end}") for end in ("low", "high"))
        sides.add("across" if low is None else "above" if low > 0 else "below" if high < 0 else "across")
    out = []
    for kind in kinds:
        ends = {end: found.get(f"{kind}.{end}") for end in ("low", "high", "low_all", "high_all")}
        many = "_all" if (found.get(f"{kind}.comparisons") or 1) > 1 else ""
        texts = ["none" if None in pair else f"[{in_unit(pair[0], found['unit'])}, {in_unit(pair[1], found['unit'])}]"
                 for pair in ((ends["low"], ends["high"]), (ends[f"low{many}"], ends[f"high{many}"]))]
        count = int(found[f"{kind}.n"])
        first = not out
        of_one = kind == "items" and "seeds.n" in found and date < "2026-11-28"
        out.append({"test": test if first else "", "contrast": key[1] if first else "", "row": name,
                    "over": f"{count} {KINDS[kind] if count != 1 else KINDS[kind][:-1]}{', first seed' * of_one}", "mean": in_unit(found[f"{kind}.mean"], found["unit"]),
                    "95 %": texts[0], "all rows at once": texts[1], "0 is": (sides.pop() if len(sides) == 1 else "across") if first else ""})
    return out


def check_pages(work, pages):
    """The lines of the pages, against the numbers of the files."""
    shown, test = defaultdict(list), ""
    for _, cells in pages["test", "contrast", "row"]:
        test = cells["test"] or test
        shown[test].append(cells)
    for claim in work.claims:
        for test in claim.table.get("tests", []):
            if "contrasts" in test and test["manifest"] in work.files:
                file = work.files[test["manifest"]]
                contrasts = file.contrasts
                wanted = [line for key, found in contrasts.items() if key[0] == test["id"] for line in lines_of(test["id"], key, found, file.head["date"])]
                lines = shown.pop(test["id"], [])
                if len(lines) != len(wanted):
                    differences.append(f"test {test['id']}: the page has {len(lines)} lines of contrasts, wanted {len(wanted)}")
                for cells, line in zip(lines, wanted):
                    for column, text in line.items():
                        same("cells of contrasts, as the files have them", f"test {test['id']}, {line['row']}, {line['over']}, {column}",
                             cells.get(column), text)
    differences.extend(f"test {test}: the page has contrasts that claims.toml does not ask for" for test in shown)
