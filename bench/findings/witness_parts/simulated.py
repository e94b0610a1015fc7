"""The tables of simulations: how often rules err, what they find, what fresh runs would say, and how far intervals hold."""

import re

from scipy import stats

from witness_parts.pages import differences, number, same

LIMIT = 6  # %, of the upper limit of a wrong verdict's chance
KIND = "cells of tables of simulations"


def of_cases(file):
    """{(rule, case): {quantity: number}}."""
    out = {}
    for row in file.rows:
        out.setdefault((row["contrast"], row["row"]), {})[row["quantity"]] = float(row["value"])
    return out


def upper_limit(percent, runs):
    """In %, of a chance that showed so often (Clopper and Pearson, 1934)."""
    seen = round(percent / 100 * runs)
    return 100.0 if seen >= runs else 100 * stats.beta.ppf(0.95, seen + 1, runs - seen)


def wrong_limit(file):
    limits = [upper_limit(numbers[quantity], numbers["simulations"]) for numbers in of_cases(file).values() for quantity in numbers
              if quantity.startswith("wrong ")]
    beyond = sum(limit > LIMIT for limit in limits)
    begin = f"None of the {len(limits)} chances has" if not beyond else f"One of the {len(limits)} chances has" if beyond == 1 else (
        f"{beyond} of the {len(limits)} chances have")
    return f"{begin} an upper 95 % limit above {LIMIT} %."


def check_wrong_verdicts(file, lines):
    rules = {}
    for (rule, case), numbers in of_cases(file).items():
        for word in ("holds", "fails"):
            if f"wrong {word}" in numbers:
                share = numbers[f"wrong {word}"]
                rules.setdefault(rule, {"holds": [], "fails": []})[word].append((upper_limit(share, numbers["simulations"]), share, case))
    for _, cells in lines:
        rule, count, *shown = cells
        where = f"wrong verdicts, {rule}"
        if rule not in rules:
            differences.append(f"{where}: the rule is not known, or stands there twice")
            continue
        found = rules.pop(rule)
        same(KIND, f"{where}, cases", count, str(len({case for cases in found.values() for _, _, case in cases})))
        for word, (share, case) in zip(found, (shown[:2], shown[2:])):
            worst = max(found[word], default=None)
            same(KIND, f"{where}, {word}", share, f"{number(worst[1])} %, at most {number(worst[0])} %" if worst else "none")
            names = [name for limit, _, name in found[word] if limit == worst[0]] if worst else [""]
            same(KIND, f"{where}, {word}, worst case", case, case if case in names else names[-1])
    differences.extend(f"wrong verdicts: there is no rule {rule}" for rule in rules)


def case_of(name):
    """(a case without its number of seeds, the column that it stands in)."""
    count = re.search(r"(\d+) seeds", name)
    rest = re.sub(r"\d+ seeds that", "seeds that", name)
    return re.sub(r"(^|, | of )\d+ seeds", "", rest).removeprefix(", "), f"{count[1]} seeds" if count else "one run"


def check_power(file, lines):
    wanted = {}
    for (rule, name), numbers in of_cases(file).items():
        if "power" in numbers:
            case, column = case_of(name)
            wanted.setdefault((rule, case), {})[column] = f"{number(numbers['power'])} %"
    for _, cells in lines:
        found = wanted.pop((cells["rule"], cells["case"]), {})
        for column, shown in list(cells.items())[2:]:
            same(KIND, f"power, {cells['rule']}, {cells['case']}, {column}", shown, found.pop(column, ""))
        differences.extend(f"power, {cells['rule']}, {cells['case']}: there is no {column}" for column in found)
    differences.extend(f"power: there is no {', '.join(place)}" for place in wanted)


def check_earlier_rules(file, lines):
    wanted = [{"rule": rule, "data": case, "verdict": quantity.removeprefix("before, wrong "), "simulations": number(numbers["simulations"]),
               "said": f"{number(share)} %"} for (rule, case), numbers in of_cases(file).items() for quantity, share in numbers.items()
              if quantity.startswith("before, wrong")]
    check_lines("earlier rules", lines, wanted)


def check_coverage(file, lines):
    wanted = []
    for (interval, data), numbers in of_cases(file).items():
        if "held" in numbers:
            is_goal = "taken as independent" not in interval and "not corrected" not in interval
            held = "yes" if abs(numbers["held"] - 95) <= 1.5 else "above" if numbers["held"] > 95 else "no"
            wanted.append({"95 % interval": interval, "data": data, "simulations": number(numbers["simulations"]),
                           "held the true value": f"{number(numbers['held'])} %",
                           "95 ± 1.5 %": held if is_goal else "no goal"})
    check_lines("coverage", lines, wanted)


def check_fresh_runs(file, claims, lines):
    wanted, words = {}, {claim.table["id"]: claim.word for claim in claims}
    for (claim, seeds), numbers in of_cases(file).items():
        id_ = claim.removeprefix("claim ")
        line = wanted.setdefault(id_, {"claim": id_, "now": words[id_]})
        line[f"{seeds}: holds / fails"] = f"{number(numbers['would say holds'])} / {number(numbers['would say fails'])} %"
    check_lines("fresh runs", lines, list(wanted.values()))


def check_lines(what, lines, wanted, kind=KIND):
    """Lines of a table, in their order."""
    if len(lines) != len(wanted):
        differences.append(f"{what}: the page has {len(lines)} lines, wanted {len(wanted)}")
    for (_, cells), line in zip(lines, wanted):
        for column, text in line.items():
            same(kind, f"{what}, {' '.join(list(line.values())[:2])}, {column}", cells.get(column), text)


def check(work, pages):
    check_wrong_verdicts(work.files["rules"], pages["rule", "cases", 'wrong "holds"'])
    check_power(work.files["rules"], [line for head, lines in pages.items() if head[:2] == ("rule", "case") for line in lines])
    check_earlier_rules(work.files["rules"], pages["rule", "data", "verdict"])
    check_coverage(work.files["coverage"], pages["95 % interval", "data", "simulations"])
    check_fresh_runs(work.files["fresh_runs"], work.claims, [line for head, lines in pages.items() if head[:2] == ("claim", "now") for line in lines])
