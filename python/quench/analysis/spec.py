"""What a contrast is asked for: the keys of docs/report.md."""

from dataclasses import dataclass, field

from .section import contrast_faults
from .selection import Selector


@dataclass
class Spec:
    """What is compared with what: the keys of a contrast in a manifest."""

    a: Selector
    b: Selector = field(default_factory=Selector)
    match: list = None
    at: str = "all"  # first or last checkpoint of each line
    of: str = "delta"  # ΔCE, `loss`, or the values of another metric by its id or label
    statistic: str = "difference"
    over: str = ""  # the axis of slopes or of a rank correlation
    within: float = 0.05  # nats per token between checkpoints of a line at equal loss

    @classmethod
    def read(cls, given):
        """From the keys of a contrast; ValueError says which does not fit."""
        for fault in contrast_faults(given):
            raise ValueError("contrast: " + fault.text)
        out = cls(**{**given, "a": Selector.read(given["a"]), "b": Selector.read(given.get("b")),
                     "over": given.get("over") or "", "within": float(given.get("within", 0.05)),
                     "of": str(given.get("of", "delta"))})
        if out.match is not None:
            out.match = [name for name in (out.match if isinstance(out.match, (list, tuple)) else [out.match])
                         if name is not None]
        return out

    @property
    def at_equal_loss(self):
        return self.at == "equal_loss"

    @property
    def b_is_members(self):
        """Every average of a against each of its members."""
        return self.b.text == "members"

    @property
    def of_metric(self):
        return "" if self.of in ("delta", "loss") else self.of

    @property
    def is_difference(self):
        return self.statistic == "difference"

    @property
    def has_unit(self):
        """That of what is compared; ratios and correlations have none."""
        return self.statistic in ("difference", "last_minus_first")

    @property
    def is_paired(self):
        """Whether it is made of pairs of cells, and not of lines of checkpoints."""
        return not self.at_equal_loss and self.statistic != "slope_ratio" \
            and not (self.statistic == "rank_correlation" and self.over)

    def measure(self, floating, quantized):
        """What is compared: ΔCE, or values as they are."""
        return quantized - floating if self.of == "delta" else quantized
