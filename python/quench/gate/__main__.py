"""Judges two measured models: the request is JSON on the standard input, the answer JSON on the standard output.

Without records it only checks what was asked. Exit code 2: one line says what is wrong with it.
"""

import json
import math
import re
import sys

from ..status import INVALID_ARGUMENT, Error
from ..values import member

MOST_LOOKS = 20


def budget_of(text):
    """0.005 of "0.5%"."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*%", text)
    value = float(match[1]) / 100 if match else math.nan
    if not match or not math.isfinite(value):
        raise Error(INVALID_ARGUMENT, "--budget: got %s, wanted a share such as 0.5%%" % text)
    if value == 0:
        raise Error(INVALID_ARGUMENT, "--budget: got %s, wanted more than 0: no data can show that a model costs nothing" % text)
    return value


def check(request):
    if request["budget"] is not None:
        budget_of(request["budget"])
    if not 1 <= request["looks"] <= MOST_LOOKS:
        raise Error(INVALID_ARGUMENT, "--looks: got %d, wanted 1..%d" % (request["looks"], MOST_LOOKS))


def percent(value, digits=3):
    """"+0.481 %", or in points of an accuracy "+0.5 %"."""
    return "%+.*g %%" % (digits, 100 * value)


def base_record(records, metric):
    """The first value of the metric."""
    return next(record for record in records if record["metric"] == metric and record["index"] == 0)


def first_values(request):
    """The two records to compare: QUANTIZED is a model of its own, or the quantizer on FLOAT."""
    metric = request["first"][0]["metric"]
    second = request["second"] or [record for record in request["first"] if record["quantizer"] is not None]
    return base_record(request["first"], metric), base_record(second, metric)


def what_is_measured(record):
    """("ΔQL", "loss 2.79 -> 2.81 nats per token") of a loss, the like of an accuracy."""
    return ("ΔQL", "loss", "nats per token") if record["direction"] == -1 else ("accuracy lost", "accuracy", "of the questions")


def judged(request):
    from .judge import judge, measure  # noqa: PLC0415, they need numpy
    from .looks import Looks, question_of, text_of  # noqa: PLC0415

    floating, quantized = first_values(request)
    measured = measure(floating, quantized, request["names"])
    warnings = _overlaps(request, floating)
    name, noun, unit = what_is_measured(floating)
    low, high = measured.limits(0.95)
    data = {"names": request["names"], "metric": floating["metric"], "label": floating["label"], "measure": name,
            "value": measured.value, "stderr": measured.stderr, "interval": [low, high], "first": floating["value"],
            "second": quantized["value"], "difference": quantized["value"] - floating["value"], "unit": floating["unit"],
            "items": measured.n, "sample": measured.sample, "overlap": warnings[0] if warnings else None}
    below = "  %s %.6g -> %.6g %s over %s\n" % (noun, floating["value"], quantized["value"], unit, measured.sample)
    if request["budget"] is None:
        word, sentence = compared(floating, quantized, request["names"], measured)
        return {"text": sentence + "\n" + below, "data": {**data, "verdict": word}, "what": sentence, "warnings": warnings}
    budget = budget_of(request["budget"])
    looks = Looks(request["home"], question_of(floating, quantized, budget), text_of(floating), request["looks"])
    verdict = judge(measured, budget, request["looks"])
    try:
        looks.keep(verdict.word)
    except OSError as failure:
        warnings.append("%s: %s, so a later look will not be told from a first one" % (looks.path, failure.strerror))
    sentence = gated(verdict, measured, name, budget)
    data.update(verdict=verdict.word, budget=budget, lower=verdict.lower, upper=verdict.upper, confidence=1 - verdict.error,
                more=verdict.more, look=looks.number, looks=request["looks"])
    return {"text": sentence + "\n" + below, "data": data, "what": sentence, "warnings": warnings}


def gated(verdict, measured, name, budget):
    limits = "one-sided %g %% limits %s and %s" % (100 * (1 - verdict.error), percent(verdict.lower), percent(verdict.upper))
    said = "%s: %s %s, %s, budget %s" % (verdict.word, name, percent(measured.value), limits, percent(budget)[1:])
    if verdict.word != "undecided":
        return said
    if verdict.more is None:
        return said + "; the difference is too close to the budget for any number of %s" % measured.units
    return said + "; about %d more %s would decide in 4 of 5 cases if the difference stays what it is" % (
        verdict.more, measured.units)


def is_quantized(record):
    """Whether quantization stands between the model and weights as they were trained: by a quantizer here, or in what is stored."""
    return record["quantizer"] is not None or member(record["checkpoint"], "stored") is not None


def compared(floating, quantized, names, measured):
    (first, second), (name, noun, _), (low, high) = names, what_is_measured(floating), measured.limits(0.95)
    if floating["items"] == quantized["items"]:
        return "not told apart", "no significant difference between %s and %s: identical %s in all %d %s" % (
            first, second, "losses" if noun == "loss" else "answers", measured.n, measured.units)
    is_cost = is_quantized(quantized) and not is_quantized(floating)
    tail = "%s %s, 95 %% interval %s to %s" % (
        name if is_cost or noun == "accuracy" else "difference", percent(measured.value), percent(low), percent(high))
    if low <= 0 <= high:
        return "not told apart", "no significant difference between %s and %s: %s" % (first, second, tail)
    word = "costs more" if measured.value > 0 else "costs less"
    said = word if is_cost else "has a %s %s" % ("higher" if (measured.value > 0) == (noun == "loss") else "lower", noun)
    return word, "%s %s than %s: %s" % (second, said, first, tail)


def _overlaps(request, floating):
    from .overlap import file_of, overlap  # noqa: PLC0415

    try:
        found = overlap(file_of(request["calibration"]), file_of(request["metric"]))
    except OSError as failure:
        found = "%s: %s, so calibration and validation text are not compared" % (failure.filename, failure.strerror)
    return [found] if found else []


def main():
    request = json.load(sys.stdin)
    try:
        check(request)
        answer = judged(request) if request["first"] is not None else None
    except Error as failure:
        print(failure, file=sys.stderr)
        return 2 if failure.status == INVALID_ARGUMENT else 1
    json.dump(answer, sys.stdout, ensure_ascii=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
