"""The tables of claims, of their rows, and of the ends of runs."""

import hashlib
import itertools
import re

from witness_parts import shown
from witness_parts.pages import HOLE, beyond, differences, number, same
from witness_parts.prose import moved
from witness_parts.rows import decisions
from witness_parts.simulated import check_lines
from witness_parts.values import change, error, float_loss, interval, largest_eigenvalue, quadratic, slope, trace, vector

KINDS = {"mean": "means of rows", "95 %": "intervals of rows", "word": "words with their p-values", "seeds": "numbers of seeds of rows",
         "the rule asks": "demands of rules", "other text or calibration data": "widths over other text of rows",
         "could have seen; seeds for the mean": "differences that rows could have seen", "test": "names of rows", "row": "names of rows"}


def check_rows(work, pages):
    """Every row that is computed for each seed."""
    lines = {}
    for _, cells in pages["test", "row", "seeds"]:
        place = cells["test"].partition(";")[0], cells["row"].partition(";")[0]
        if place in lines:
            differences.append(f"test {', '.join(place)}: stands on the pages twice")
        lines[place] = cells
        unknown = set(cells) - set(KINDS)
        beyond[f"cells of columns that are not known: {', '.join(sorted(unknown))}"] += len(unknown)
    for claim in work.claims:
        for one in claim.decisions + claim.beside:
            for row in one.rows:
                where = f"test {row.test['id']}, {row.name}"
                cells = lines.pop((row.test["id"], row.name), None)
                if cells is None:
                    differences.append(f"{where}: stands on no page")
                    continue
                for column, text in shown.of_row(row, one).items():
                    same(KINDS[column], where if column in ("test", "row", "mean", "95 %", "word") else f"{where}, {column}", cells.get(column), text)
    differences.extend(f"test {test}, {name}: the page has a row that claims.toml does not ask for, or that has no number" for test, name in lines)


def check_claims(work, pages, docs):
    wanted, changes = [], []
    for claim in work.claims:
        table, effect, sure = claim.table, "none", ""
        if claim.decisions:
            many, which = len(claim.decisions), "clearest" if claim.word == "fails" else "least sure"
            effect = shown.effect(claim.deciding.rows[0]) + (f"; the {which} of {many} rows" if many > 1 else "")
            sure = shown.sureness(claim)
        wanted.append({"": table["id"], "claim": f"[{table['claim']}](findings/{table['page']}.md)", "verdict": f"**{claim.text}**",
                       "effect and 95 % interval": effect, "how sure": sure})
        changes.append({"claim": table["id"], "before": work.before[table["id"]]["word"], "now": claim.text,
                        "what changed": work.before[table["id"]]["why"]})
        check_block(claim, (docs / f"findings/{table['page']}.md").read_text(encoding="utf-8"))
    check_lines("the table of claims", pages["", "claim", "verdict"], wanted, "cells of the table of claims")
    known = {claim.table["id"] for claim in work.claims}
    changes += [{"claim": id_, "before": was["word"], "now": "none", "what changed": was["why"]} for id_, was in work.before.items() if id_ not in known]
    check_lines("what has changed", pages["claim", "before", "now"], changes, "cells of the table of changes")


def check_block(claim, page):
    """The line above the rows of a claim, and the lines below that say why rows have no number."""
    table, where = claim.table, f"claim {claim.table['id']}"
    first = table["claim"][0]
    begin = f"**{first.upper() if first.isascii() else first}{table['claim'][1:]}: "
    line = next((line for line in page.splitlines() if line.startswith(begin)), None)
    same("lines above claims", where, line, moved(f"{begin}{claim.text}.** Rule: {table['test']}. In the paper: {table['paper']}."))
    lines = page.partition(begin)[2].partition("\n**")[0].splitlines()
    costs = [line for line in lines if line.startswith(("At the paper's size it waits", "Planned: "))]
    beyond["costs of runs at the paper's size, which manifests say"] += len(costs)
    beyond["verdicts of one run"] += sum(line.startswith("At the paper's size: **") for line in lines)
    reasons = {}
    for name, reason in claim.refused:
        reasons.setdefault(reason, []).append(name)
    wanted = [f"- No number for {name}: {reason}." for name, reason in claim.without]
    wanted += [f"- Not compared: {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    found = [line for line in lines if line.startswith(("- No number for ", "- Not compared: "))]
    for shown_line, line in itertools.zip_longest(found, wanted, fillvalue=""):
        if line.endswith(": .") and shown_line.startswith(line[:-1]):
            beyond["reasons why rows have no number"] += 1
        else:
            same("reasons why rows have no number", where, shown_line, line)


def check_both_measures(work, pages):
    """Rows that decide a claim about errors, by ΔCE and by ΔQL; without claims 23 and 24, which have dozens of rows."""
    wanted = []
    for claim in work.claims:
        for one in claim.decisions if claim.table["id"] not in ("23", "24") else []:
            row, test = one.rows[0], one.rows[0].test
            if row.measure != "error" or "of" in row.entry or "at" in test or test["rule"] == "alike" or "share_of" in test:
                continue
            by_ratio = {key: value for key, value in test.items() if key != "text"} | {"of": "relative"}
            other = next(found for found in decisions(work.files[test["manifest"]], by_ratio)[0] if found.rows[0].name == row.name)
            wanted.append({"claim": claim.table["id"], "row": row.name, "ΔCE, thousandths of a nat": shown.effect(row, with_unit=False),
                           "by ΔCE": one.word, "ΔQL": shown.effect(other.rows[0]), "by ΔQL": other.word})
    check_lines("ΔQL beside ΔCE", pages["claim", "row", "ΔCE, thousandths of a nat"], wanted, "cells of the table of ΔQL beside ΔCE")


def check_edge(work, pages):
    """λ₁ times the learning rate of each checkpoint of the runs that pages ask for."""
    wanted = []
    for name in edges(work.templates):
        values = work.files[name].values
        places = [place for place, method, quantity in values if (method, quantity) == ("float", "hessian") and not place[2]
                  and (place, "float", "lr") in values]
        for place in sorted(places, key=lambda place: (place[1] != "trunk", place[3], place)):
            eigenvalue, rate = values[place, "float", "hessian"], values[place, "float", "lr"]
            seeds = sorted(set(eigenvalue) & set(rate))
            product = 1000 * vector(eigenvalue, seeds) * vector(rate, seeds)
            wanted.append({"learning rate": "constant" if place[1] == "trunk" else "end of a decay", "step": str(place[3]), "seeds": str(len(seeds)),
                           "λ₁": number(vector(eigenvalue, seeds).mean()), "λ₁·η, thousandths": number(product.mean()),
                           "95 %": "[{}, {}]".format(*map(number, interval(product))) if len(product) > 1 else "none"})
    check_lines("λ₁·η", pages["learning rate", "step", "seeds"], wanted, "cells of the table of λ₁·η")


def edges(templates):
    return [hole[2].strip() for template in sorted(templates.glob("*.in")) for hole in HOLE.finditer(template.read_text(encoding="utf-8"))
            if hole[1] == "edge"]


def of_end(values, place, column):
    """A cell of the last step of a line of checkpoints: mean (lowest to highest), or the terms of an error."""
    short = column.partition(":")[0]
    method = next((m for p, m, _ in values if p == place and m.replace("bits=", "") == short), "float")
    of, factor = {"float loss": (float_loss, 1), "λ₁": (largest_eigenvalue, 1), "trace": (trace, 1)}.get(column, (error, 1000))
    try:
        if ":" in column:
            of_error, *terms = (number(1000 * vector(of(values, place, method)).mean()) for of in (change, slope, quadratic))
            return f"{of_error}: {', '.join(terms)}" if method != "float" else "none"
        x = factor * vector(of(values, place, method))
    except KeyError:
        return "none"
    if of is error and method == "float":
        return "none"
    return number(x.mean()) + (f" ({number(x.min())} to {number(x.max())})" if len(x) > 1 else "")


def check_ends(work, pages):
    left = {}
    for name, file in work.files.items():
        for place, _, quantity in file.values:
            if quantity == "loss":
                left.setdefault((name, *place[:3]), set()).add(place[3])
    steps = dict(left)
    for heading, cells in pages["point", "branch", "averaging"]:
        line = ("" if cells["point"] == "one" else cells["point"], cells["branch"], "" if cells["averaging"] == "none" else cells["averaging"])
        place = *line, int(cells["step"])
        values = work.files[heading].values
        where = f"{heading}, {' '.join(map(str, place))}"
        if "float loss" in cells:
            known = left.pop((heading, *line), None)
            if known is None:
                differences.append(f"{where}: is not known, or stands there twice")
                continue
            same("ends of runs", f"{where}, seeds", cells["seeds"], str(len(values.get((place, "float", "loss"), {}))))
            same("ends of runs", f"{where}, step", cells["step"], str(max(known)))
        elif place[3] not in steps.get((heading, *line), ()):
            differences.append(f"{where}: has no loss")
        for column in list(cells)[4:]:
            if column != "seeds":
                same("ends of runs", f"{where}, {column}", cells[column], of_end(values, place, column))
    differences.extend(f"{' '.join(line)}: stands on no page" for line in left)


def check_files(work, pages, docs):
    """What the pages say of each file, and where the numbers of each run come from."""
    wanted = [{"file": f"[{name}.csv](../../bench/findings/data/{name}.csv)", "numbers": str(len(file.rows)), "date": file.head["date"],
               "begin of its SHA-256": hashlib.sha256(file.path.read_bytes()).hexdigest()[:12], "made by": f"`{file.head['command']}`"}
              for name, file in work.files.items()]
    lines = pages["file", "numbers", "date"]
    for (_, cells), line in zip(lines, wanted):
        for column, text in line.items():
            if cells.get(column) != text:
                differences.append(f"files, {line['file']}, {column}: the page has {cells.get(column)}, wanted {text}")
    if len(lines) != len(wanted):
        differences.append(f"files: the page has {len(lines)} lines, wanted {len(wanted)}")
    found = re.findall(r"^\[(\w+)\.csv\]\([^)]*\), (\d.*)$", (docs / "findings/runs.md").read_text(encoding="utf-8"), re.M)
    for name, line in found:
        same("lines above numbers of runs", f"{name}.csv", line, shown.made_by(work.files[name]))
