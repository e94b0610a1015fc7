"""Contrasts in words."""

import math

from ..values import canonical
from .dimensions import sweep_point, value_text
from .intervals import delta_spread, spread_of
from .observations import is_loss
from .points import point_names

NO_EFFECT = {"difference": 0.0, "last_minus_first": 0.0, "rank_correlation": 0.0, "slope_ratio": 1.0}
ONE_TRAINING_RUN = "One training run: the intervals cover other text and other calibration data, not another seed."
ONE_TRAINING_RUN_EACH = ONE_TRAINING_RUN.replace("One training run", "One training run each")
CAVEATS = (ONE_TRAINING_RUN, ONE_TRAINING_RUN_EACH)  # the last of the findings, where intervals are over no seeds
_MOST_METHODS = 3
_NO_SPREAD = ": no spread)"


def signed(value):
    """ "−0.0152": a real minus sign and four significant digits. """
    return ("−" if value < 0 else "+" if value > 0 else "") + "%.4g" % abs(value)


def alike(spread, value=None, least=0):
    """(value, low, high, detectable) with the same decimals, at least so many: as many as show two digits of half the interval's
    width, and what is not 0 as something else than 0. The value is the mean unless it is given, `detectable` "" if it is not known."""
    value, (low, high) = spread.mean if value is None else value, spread.interval
    numbers = [value, low, high, *([] if spread.detectable is None else [spread.detectable])]
    places = 1 - math.floor(math.log10((high - low) / 2)) if high > low else 4 if value else 0
    decimals = next((d for d in range(max(places, least), 12) if all(round(number, d) for number in numbers if number)), 12)
    shown = [("−" if number < 0 else "+" if number > 0 else "") + "%.*f" % (decimals, abs(number)) for number in numbers]
    return shown if len(shown) == 4 else [*shown, ""]


def no_spread(spread):
    """ "all 60 blocks have the same value": there is no interval to tell. """
    return "all %s have the same value" % spread.sample.partition(",")[0]


def _interval(spread, ends):
    """ " (95 % interval 0.004 to 0.024 over 60 blocks, block bootstrap of 10)". """
    return " (%s%s" % (no_spread(spread), _NO_SPREAD) if spread.is_constant else " (95 %% interval %s to %s over %s)" % (
        *ends, spread.sample)


def first_spread(row):
    """The spread that a row's first number is the mean of: over seeds if there are several, else the first of what there is."""
    return next((spread for spread in row.spreads if spread.kind == "seeds"), row.spreads[0] if row.spreads else None)


def shown_value(row):
    """What sentences and tables show of a row: that mean, so that it lies in the interval beside it."""
    spread = first_spread(row)
    return spread.mean if spread else row.value


def shown_bits_per_byte(row):
    """The same in bits per byte, None where the size of the corpus is not known."""
    return row.bits_per_byte / row.value * shown_value(row) if row.bits_per_byte is not None and row.value else row.bits_per_byte


def decision_of(spec, row):
    """Whether all intervals of a row exclude that there is no effect: `at once` with those that hold for all comparisons,
    `alone` only each by itself, `none`, or `no interval`."""
    reference, value = NO_EFFECT[spec.statistic], shown_value(row)
    if not row.spreads:
        return "no interval"
    if not all(_beside(spread.interval, value, reference) for spread in row.spreads):
        return "none"
    return "at once" if all(spread.comparisons < 2 or _beside(spread.simultaneous, value, reference)
                            for spread in row.spreads) else "alone"


def _beside(interval, value, reference):
    """Whether the interval excludes the reference, on the side of the value."""
    return interval is not None and (interval[1] < reference if value < reference else interval[0] > reference)


def _measured(spec):
    return spec.of_metric or ("quantized loss" if spec.of == "loss" or spec.at_equal_loss else "ΔCE")


def _unit(spec, row):
    if not spec.of_metric:
        return " nats/token"
    unit = row.a.record["unit"]
    return "" if unit in ("", "1") else " " + unit


def value_name(spec):
    """The heading of the column with a contrast's numbers."""
    if spec.is_difference:
        return "ΔCE difference" if spec.of == "delta" and not spec.at_equal_loss else "difference of " + _measured(spec)
    return {"last_minus_first": "last minus first", "slope_ratio": "ratio of slopes",
            "rank_correlation": "rank correlation"}[spec.statistic]


def title_of(spec):
    of = ", " + spec.of_metric if spec.of_metric else ""
    if spec.is_difference:
        return "%s − %s%s%s" % (spec.a.name, spec.b.name, of, ", at equal float loss" if spec.at_equal_loss else "")
    if spec.statistic == "last_minus_first":
        return "%s − %s%s: last minus first" % (spec.a.name, spec.b.name, of)
    if spec.statistic == "slope_ratio":
        return "slope of %s%s over %s, over that of %s" % (spec.a.name, of, spec.over, spec.b.name)
    return "%s%s: rank correlation with %s" % (spec.a.name, of, spec.over or spec.b.name)


def heading_of(contrast):
    """The title of its section, unlike that of any other contrast beside it."""
    return title_of(contrast.spec) + (", " + contrast.apart if contrast.apart else "")


def tell_apart(contrasts):
    """Sets `apart` of contrasts of one title: what they measure, at which checkpoints they compare, what agrees in them, as far as they
    differ in it."""
    for words in (lambda spec: "by " + _measured(spec),
                  lambda spec: {"last": "at the last checkpoint", "first": "at the first checkpoint"}.get(spec.at, "at all checkpoints"),
                  lambda spec: "at equal " + " and ".join(spec.match) if spec.match else ""):
        of_title = {}
        for contrast in contrasts:
            of_title.setdefault(heading_of(contrast), []).append(contrast)
        for equal in of_title.values():
            if len({words(contrast.spec) for contrast in equal}) > 1:
                for contrast in equal:
                    contrast.apart = " ".join(filter(None, [contrast.apart, words(contrast.spec)]))


def summary_of(contrast):
    """Counts what the rows of a difference decide; "" where there is nothing to count."""
    spec, rows = contrast.spec, contrast.rows
    if len(rows) < 2 or not spec.is_difference:
        return ""
    shown = [shown_value(row) for row in rows]
    decisions = [decision_of(spec, row) for row in rows]

    def count(is_lower, *kinds):
        return sum((value < 0) == is_lower and decision in kinds for value, decision in zip(shown, decisions))

    def before(is_lower):
        return " (%d before correction)" % count(is_lower, "at once", "alone") if count(is_lower, "alone") else ""
    unknown = decisions.count("no interval")
    comparisons = max([1] + [spread.comparisons for row in rows for spread in row.spreads])
    return "%s against %s%s: %s is lower in %d of %d pairs%s, no significant difference in %d, higher in %d%s%s%s; differences from %s to %s%s. " \
        "Pairs along one training run are not independent, so their number is not a sample size." % (
            spec.a.name, spec.b.name, " " + contrast.apart if contrast.apart else "", _measured(spec),
            count(True, "at once"), len(rows), before(True),
            len(rows) - decisions.count("at once") - unknown, count(False, "at once"), before(False),
            ", without an interval in %d" % unknown if unknown else "",
            ", with all %d comparisons at once" % comparisons if comparisons > 1 else "",
            signed(min(shown)), signed(max(shown)), _unit(spec, rows[0]))


def sentence_of(spec, row):
    """What a row says, with its intervals, those of the family beside them, and its notes."""
    value = shown_value(row)
    if spec.is_difference:
        out = "%s − %s, %s: %s %s%s" % (spec.a.name, spec.b.name, row.what, _measured(spec), signed(value), _unit(spec, row))
    else:
        out = "%s, %s: %s%s over %d cells" % (title_of(spec), row.what, signed(value), _unit(spec, row) if spec.has_unit else "", row.cells)
    bits = shown_bits_per_byte(row)
    if bits is not None:
        out += " (%s bits/byte)" % signed(bits)
    out += "."
    for spread in row.spreads:
        mean = signed(spread.mean) + ", "
        if spread.is_constant:
            out += " Over %s, paired: %s%s, no spread." % (spread.sample, mean, no_spread(spread))
            continue
        if spread.resampled is None:
            out += " Over %s, paired: %s95 %% interval %s%s." % (spread.sample, mean, _ends(spread.interval), _family(spread))
        else:
            out += " Over %s: %s95 %% interval of resamples %s%s." % (
                spread.sample, "" if spread is first_spread(row) else mean, _ends(spread.interval), _family(spread))
        out += " An effect of %.4g would have been detected in 4 of 5 such samples." % spread.detectable
    return out + " ".join(["", *_verdict(spec, row, value), *row.notes])


def _ends(interval):
    return "[%s, %s]" % tuple(map(signed, interval))


def _family(spread):
    if spread.comparisons < 2:
        return ""
    return "; with all %d comparisons at once %s" % (spread.comparisons, _ends(spread.simultaneous)) if spread.simultaneous \
        else "; of %d comparisons, too many for an interval over resamples that holds for all at once" % spread.comparisons


def _verdict(spec, row, value):
    reference = NO_EFFECT[spec.statistic]
    if not row.spreads:
        yield "No spread is known, so neither can be called cheaper." if spec.is_difference and not spec.of_metric \
            else "No spread is known."
        return
    unclear = [spread.sample for spread in row.spreads if not _beside(spread.interval, value, reference)]
    samples = " and over ".join(spread.sample for spread in row.spreads)
    if unclear:
        yield "No significant difference from %g over %s." % (reference, " and ".join(unclear))
    elif not spec.is_difference:
        yield "%s %g, over %s." % ("Below" if value < reference else "Above", reference, samples)
    else:
        yield "%s %s, over %s." % (spec.a.name if value < 0 else spec.b.name, "has the lower " + spec.of_metric if spec.of_metric
                                   else "has the lower loss" if spec.of == "loss" else "costs less", samples)


def finding_of(spec, row, metric=""):
    """The same in one sentence: "At step1200, rtn bits=3: decayed loses 0.014 nats per token more to quantization than constant
    (95 % interval 0.004 to 0.024 over 60 blocks, block bootstrap of 10)." `metric` is named beside what the row says."""
    spread, decision, value = first_spread(row), decision_of(spec, row), shown_value(row)
    shown, interval, missed = signed(value), " (no interval is known)", ""
    if spread:
        shown, *ends, detectable = alike(spread, value)
        if not spec.of_metric and decision in ("at once", "alone") and spec.is_difference:
            ends = [end.lstrip("+−") for end in (ends if value > 0 else ends[::-1])]  # "less" says the sign
        interval = _interval(spread, ends)
        if decision == "alone":
            interval += ", but not with all %d comparisons at once" % spread.comparisons
        if detectable and not spread.is_constant:
            missed = "; %s would have been detected in 4 of 5 such samples" % detectable.lstrip("+")
    what = ", ".join(filter(None, [row.what, metric]))
    where = "At %s: " % what if what else ""
    a, b, of_metric = spec.a.name, spec.b.name, spec.of_metric
    unit = _unit(spec, row) if of_metric else " nats per token"
    if not spec.is_difference:
        return "%s%s is %s%s%s." % (where, title_of(spec), shown, unit if spec.has_unit else "", interval)
    if decision in ("none", "no interval"):
        return "%sno significant difference between %s and %s%s: %s%s%s%s." % (
            where, a, b, " in " + of_metric if of_metric else "", shown, unit, interval, missed)
    size, lower = shown.lstrip("+−"), "lower" if value < 0 else "higher"
    if of_metric:
        return "%s%s of %s is %s%s %s than of %s%s." % (where, of_metric, a, size, unit, lower, b, interval)
    if spec.of == "loss" or spec.at_equal_loss:
        return "%squantized, %s has a loss %s nats per token %s than %s%s." % (where, a, size, lower, b, interval)
    return "%s%s loses %s nats per token %s to quantization than %s%s." % (
        where, a, size, "less" if value < 0 else "more", b, interval)


def _from_a_capital(text):
    return text[:1].upper() + text[1:]


def findings_of(contrasts, current):
    """What the contrasts say: first those of one row that is decided with all comparisons at once, then the counts of each contrast
    of several rows, then a sentence for each other row, the decided ones first; and what could not be compared. Without contrasts
    what quantization costs at the last checkpoint, a sentence for each point of a sweep: `current` gives the observations of what the
    manifest asks for now. At the end what a single training run cannot say."""
    sure, counts, at_once, alone, open_, trainings, one_run = [], [], [], [], [], set(), False
    several = len({_metric_of(row) for contrast in contrasts for row in contrast.rows}) > 1
    for contrast in contrasts:
        counted = summary_of(contrast)
        counts += [counted] * bool(counted)
        for row in contrast.rows:
            metric = _metric_of(row) if several and not contrast.spec.of_metric else ""
            {"at once": at_once if counted else sure, "alone": alone}.get(decision_of(contrast.spec, row), open_).append(
                _from_a_capital(finding_of(contrast.spec, row, "" if metric in row.what.split(", ") else metric)))
            trainings.update(canonical(sweep_point(side.record)) for side in (row.a, row.b) if side)
            one_run |= not any(spread.kind == "seeds" for spread in row.spreads)
    out = list(dict.fromkeys(sure + counts + at_once + alone + open_))  # two contrasts may hold one pair
    if not out:
        for point, sentence, has_seeds in _costs_at_the_end(current()):
            out.append(sentence)
            trainings.add(point)
            one_run |= not has_seeds
    out += ["Not compared: %s." % problem for contrast in contrasts for problem in contrast.problems]
    return out + [CAVEATS[len(trainings) > 1]] * one_run


def _metric_of(row):
    return value_text(row.a["metric"])


def _costs_at_the_end(observations):
    """(point, sentence, whether it is over seeds) of each point of a sweep: "At peak 0.003, step1200: quantized by rtn bits=3, the
    loss changes by +0.03 nats per token (...); by gptq bits=3, ...", of several seeds their mean."""
    points, of_point = [], {}
    for it in observations:
        if it.has_delta and it.is_base:
            points.append(sweep_point(it.record))
            of_point.setdefault(canonical(points[-1]), []).append(it)
    for point, name in point_names(points).items():
        losses = sorted(of_point[point], key=lambda it: it.seed)
        last = next((it for it in losses if it.is_last and it.record["averaging"] is None), None)
        if last is None:
            continue
        cells = {}
        for it in losses:
            if (it.weights, it.record["label"], it.text) == (last.weights, last.record["label"], last.text):
                cells.setdefault(it.cell, []).append(it)
        words = []
        for cell in list(cells.values())[:_MOST_METHODS]:
            text, interval = _cost_text(cell, not words)
            if words and words[-1].endswith(interval) and interval.endswith(_NO_SPREAD):
                words[-1] = words[-1][:-len(interval)]  # it is said once, behind the last
            words.append(text + interval)
        where = ", ".join(filter(None, [name if len(of_point) > 1 else "", value_text(last["checkpoint"])]))
        yield point, "At %s: %s." % (where, "; ".join(words)), all(len(cell) > 1 for cell in cells.values())


def _cost_text(of_seeds, is_first):
    """ "quantized by rtn bits=3, the loss changes by +0.03 nats per token", " (95 % interval ...)". """
    it = of_seeds[0]
    spread = spread_of("seeds", [each.delta for each in of_seeds]) if len(of_seeds) > 1 else delta_spread(it)
    shown, *ends, _ = alike(spread) if spread else (signed(it.delta), "")
    return ("quantized by %s, the loss changes by %s nats per token" if is_first else "by %s, %s") % (
        value_text(it["label"]), shown), _interval(spread, ends) if spread else ""
