"""Whether quantization costs more than it did some checkpoints ago while the float model is not worse.

ΔCE of a checkpoint is the quantized loss minus the float loss. What is judged is ΔCE(now) − ΔCE(then), block by block or document by
document of the same text, by the paired interval that contrasts of reports have (analysis/intervals.py). Its lower one-sided 95 %
limit above 0 is a rise: one of 20 looks at checkpoints of equal cost says so by chance.
"""

from dataclasses import dataclass

from ..analysis.dimensions import value_text
from ..analysis.intervals import CONFIDENCE, paired_spread
from ..analysis.observations import observe
from ..run_records import DERIVED
from ..values import canonical, members

AGO = 5  # checkpoints


@dataclass
class Rise:
    now: str  # names of checkpoints
    then: str
    method: str
    before: float  # ΔCE
    after: float
    lower: float  # one-sided limit of the difference
    unit: str

    def sentence(self):
        return ("%s costs more at %s than at %s: ΔCE %+.4g, then %+.4g; one-sided 95 %% limit of the rise %+.3g %s, while the float "
                "loss did not rise" % (self.method, self.now, self.then, self.after, self.before, self.lower, self.unit))


def lines_of(records):
    """Lists of quantized losses with their float ones, along the training: of each branch, method, metric and no average."""
    observations, _, _ = observe([record for record in records if record["metric"] not in DERIVED])
    lines = {}
    for it in observations:
        if it.has_delta and it.is_base and it.record["averaging"] is None:
            key = canonical([members(it.record["checkpoint"], "model", "branch"),
                             members(it.record["quantizer"], "id", "params", "label", "calibration"), it.record["metric"],
                             it.record["label"], it.text, it.record["job"]])
            lines.setdefault(key, []).append(it)
    for line in lines.values():
        line.sort(key=lambda it: it.position)
    return list(lines.values())


def rise_at(line, index, ago=AGO):
    """The rise at one checkpoint of a line, None if there is none or too few came before it."""
    if index < ago:
        return None
    now, then = line[index], line[index - ago]
    if now.floating["value"] > then.floating["value"]:
        return None
    spread = paired_spread((1, now.record), (-1, now.floating), (-1, then.record), (1, then.floating))
    limits = spread and spread.stderr and spread.at(1 - 2 * (1 - CONFIDENCE))
    if not limits or limits[0] <= 0:
        return None
    return Rise(value_text(now["checkpoint"]), value_text(then["checkpoint"]), value_text(now["label"]), then.delta, now.delta,
                limits[0], now.record["unit"])


def rises(records, model=None, revision=None):
    """Those at this checkpoint; at all of them if none is named."""
    out = []
    for line in lines_of(records):
        for index, it in enumerate(line):
            checkpoint = it.record["checkpoint"]
            if revision is None or (checkpoint["model"], checkpoint["revision"]) == (model, revision):
                out.append(rise_at(line, index))
    return [rise for rise in out if rise]
