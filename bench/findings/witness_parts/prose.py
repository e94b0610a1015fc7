"""The text of the pages: pages/*.in with their holes filled anew. What stands around the holes has to stand there, too."""

import re

import numpy as np

from witness_parts import shown
from witness_parts.mediation import cell
from witness_parts.pages import HOLE, NUMBER, beyond, differences, number, plain, same
from witness_parts.simulated import wrong_limit
from witness_parts.values import float_loss, vector

LINK = re.compile(r"(?<=\]\()([^()\s:#]+)(?=[#)])")
TABLES = ("claim", "claims_table", "changes", "both_measures", "mediation", "edge", "runs", "files", "coverage", "wrong_verdicts", "power",
          "fresh_runs", "earlier_rules")  # holes that other modules look at
IS = {"holds": "holds", "fails": "fails", "open": "is open", "waits": "waits"}
ARE = {"holds": ("holds", "hold"), "fails": ("fails", "fail"), "open": ("is open", "are open"), "waits": ("waits", "wait")}


def moved(text):
    """Links as a page of docs/findings has them, from those of docs/findings.md."""
    return LINK.sub(lambda found: found[0].removeprefix("findings/") if found[0].startswith("findings/") else f"../{found[0]}", text)


class Holes:
    """Every method is a hole that is filled with text."""

    def __init__(self, work):
        self.work, self.claims = work, {claim.table["id"]: claim for claim in work.claims}

    def word(self, id_):
        return IS[self.claims[id_].word]

    def effect(self, id_, test="", name=""):
        if not test:
            return shown.effect(self.claims[id_].deciding.rows[0])
        return shown.effect(next(row for row in self.claims[id_].rows if (row.test["id"], row.name) == (test, name)))

    def mediated(self, intervention, rounding, column):
        return cell(self.work.files, intervention, rounding, column)[0]

    def regime(self, name):
        values = self.work.files[name].values
        last = max(place[3] for place, _, _ in values if place[:3] == ("", "trunk", ""))

        def at(branch, step):
            return vector(float_loss(values, ("", branch, "", step), "")).mean()
        constant, decay = at("trunk", last // 2) - at("trunk", last), at("trunk", last) - at("late", last)
        return f"{number(constant)} nats in the last half of the constant part and {number(decay)} in the decay"

    def counts(self):
        words = [claim.word for claim in self.work.claims]
        *others, last = [f"{words.count(word)} {ARE[word][words.count(word) != 1]}" for word in ARE if word in words]
        decided = [claim for claim in self.work.claims if claim.is_decided]
        late = sum(not claim.fresh for claim in decided)
        return (f"of {len(words)} claims {', '.join(others)}{' and ' * bool(others)}{last}; of the {len(decided)} that are decided, "
                f"{late or 'none'} by a rule that is younger than the data")

    def discoveries(self):
        share, id_, decided, claims = self.work.discovery
        if not decided:
            return "No verdict is decided by a rule that is older than its data"
        return (f"Among the {decided} verdicts that say holds or fails by a rule that is older than the data, at most {number(100 * share)} % are "
                f"expected to be wrong (Benjamini and Hochberg, over both words of {claims} claims; the least sure is claim {id_}); "
                "of the others nothing is known")

    def answer(self):
        """A sentence for each claim that has one and has been measured, those near the plateau first."""
        said = []
        for claim in sorted(self.work.claims, key=lambda claim: claim.table.get("page") != "plateau"):
            table = claim.table
            if "says" not in table or not claim.decisions:
                continue
            row, many = claim.deciding.rows[0], len(claim.decisions)
            asked = f"Whether {table['says'][0].lower()}{table['says'][1:]}"
            begin = {"holds": table["says"], "fails": table["says_not"], "open": asked}[claim.word]
            said.append(f"- {begin}: " + (f"in the least sure of {many} rows, {row.name}, " if many > 1 else "") + shown.effect(row)
                        + (f", {number(100 * abs(row.x.mean() / row.error.mean()))} % of the error" if row.error is not None else "")
                        + f", {len(row.seeds)} seeds, {shown.sureness(claim)} ([claim {table['id']}](findings/{table['page']}.md)"
                        + (f", “{table['claim']}”" if claim.word == "fails" else "") + f": **{claim.text}**).")
        return "\n".join(said)

    def over_steps(self, name, averaging, averages):
        count = len(self.work.files[name].seeds)
        seeds = f"{count} seeds, bands and bars from the lowest to the highest" if count > 1 else "1 seed"
        return (f"![What rounding to 3 bits costs over training steps: constant learning rate, decays, averages](findings/{name}.svg)\n\n"
                f"RTN and GPTQ at 3 bits, averages: {averages}; {seeds}. A thin line leads from where a decay begins to its first checkpoint that "
                f"was measured ([{name}.csv](../bench/findings/data/{name}.csv)).")

    def seeds(self, *names):
        """Those of the results of these runs."""
        found = {tuple(self.work.files[name].seeds) for name in names}
        seeds, = found
        if len(seeds) > 3 and np.ptp(seeds) == len(seeds) - 1:
            return f"seeds {seeds[0]} to {seeds[-1]}"
        return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"

    def source(self, name):
        return f"[{name}.csv](../bench/findings/data/{name}.csv), {shown.made_by(self.work.files[name])}"

    def wrong_limit(self):
        return wrong_limit(self.work.files["rules"])


def filled(holes, name, arguments):
    """The text of a hole, or None for a table or a figure, which other modules look at or nobody."""
    if name in TABLES:
        return None
    if name.startswith("_") or not hasattr(holes, name):
        beyond[{"tried": "values that manifests try", "forest": "figures", "courses": "figures"}.get(name, f"holes called {name}")] += 1
        return None
    beyond["figures"] += name == "over_steps"
    return getattr(holes, name)(*("" if one == "none" else one for one in arguments))


def check(work, docs):
    holes = Holes(work)
    for template in sorted(work.templates.glob("*.in")):
        main = template.stem == "findings"
        page = docs / "findings.md" if main else docs / f"findings/{template.stem}.md"
        if not page.exists():
            differences.append(f"there is no {page.name}")
            continue
        text = template.read_text(encoding="utf-8")
        walk(holes, page.stem, plain(page.read_text(encoding="utf-8")), text if main else moved(text), (lambda one: one) if main else moved)


def walk(holes, name, page, template, as_page):
    """Goes along a page and its template: text, hole, text, ..."""
    texts, found, begin = [], [], 0
    for hole in HOLE.finditer(template):
        texts.append(plain(template[begin:hole.start()]))
        found.append(hole)
        begin = hole.end()
    texts.append(plain(template[begin:]))
    at = after(page, 0, texts[0], name)
    for i, hole in enumerate(found):
        if at is None:
            return
        arguments = [part.strip() for part in hole[2].split(" | ")] if hole[2] else []
        where = f"{name}, {hole[0]}"
        try:
            wanted = filled(holes, hole[1], arguments)
        except (KeyError, StopIteration, ValueError, AttributeError) as why:
            differences.append(f"{where}: nothing worked out ({why!r})")
            wanted = None
        if wanted is None:
            if i + 1 < len(found) and not texts[i + 1].strip() and is_gap(found[i + 1]):
                continue  # both are one gap
            at = end_of_gap(page, at, texts[i + 1], i + 1 == len(found))
        else:
            wanted = plain(as_page(wanted))
            fits = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?".join(map(re.escape, NUMBER.split(wanted)))).match(page, at)
            end = fits.end() if fits else end_of_gap(page, at, texts[i + 1], i + 1 == len(found))
            lines = page[at:end].split("\n"), wanted.split("\n")
            for line in zip(*lines) if len(lines[0]) == len(lines[1]) else [(page[at:end], wanted)]:
                if any(line):
                    same("lines of text in holes of prose", where, *line)
            at = end
        at = after(page, at, texts[i + 1], name)


def is_gap(hole):
    return hole[1] in TABLES or hole[1] == "forest"


def end_of_gap(page, at, text, is_last):
    """Where the text after a hole begins."""
    if is_last:
        return len(page) - len(text)
    found = page.find(text, at)
    return found if found >= 0 else max(page.find(text[:20], at), at)


def after(page, at, text, name):
    """The place behind a text that stands there; None where what follows cannot be found."""
    if page.startswith(text, at):
        return at + len(text)
    common = next((i for i, (a, b) in enumerate(zip(page[at:], text)) if a != b), min(len(page) - at, len(text)))
    here, there = (" ".join(of[max(i - 30, 0):i + 30].split()) for of, i in ((page, at + common), (text, common)))
    differences.append(f"{name}: the page has '{here}' where its template has '{there}'")
    end = page.find(text[-40:], at)
    return end + len(text[-40:]) if end >= 0 else None
