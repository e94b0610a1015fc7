"""What a figure is asked for: the options of docs/report.md."""

from dataclasses import dataclass, field

from ..section import OPTIONS, figure_faults
from ..selection import holds, is_of_quantizer, read_conditions

DEFAULT = [kind for kind in OPTIONS if kind not in ("loss_vs_bytes", "depth")]  # of a report that does not say which


@dataclass
class Options:
    kind: str
    name: str = ""
    title: str = ""
    lines: list = None  # dimensions that get a colour for each value
    panels: list = None
    where: dict = field(default_factory=dict)
    x: str = "auto"
    y: str = "error"
    right: str = ""  # `lr`, or a value of the float models by its metric or label
    spread: str = "auto"
    at: str = "last"
    range: str = "late"
    share_y: bool = False  # panels have one vertical range
    width: float = None  # of the figure in files, in inches; None: by its panels
    height: float = None

    @classmethod
    def read(cls, kind, given):
        """From the options of one figure; ValueError says which does not fit."""
        for fault in figure_faults({kind: given}):
            raise ValueError(fault.text if fault.where == "figures" else "%s: %s" % (kind, fault.text))
        out = cls(kind, **{name: value for name, value in given.items() if value is not None})
        out.where = read_conditions(out.where)
        out.lines = _dimensions(given.get("lines", ["branch"]))
        out.panels = _dimensions(given.get("panels", [] if kind in ("spectrum", "loss_vs_bytes", "depth") else ["bits"]))
        out.y = given.get("y", {"bars": "delta", "depth": "auto"}.get(kind, "error"))
        out.right = "" if out.right == "none" else out.right
        out.share_y = "share_y" in OPTIONS[kind] and given.get(
            "share_y", not set(out.panels) & {"bits", "metric"})  # whose values differ in size
        return out

    def keeps(self, it):
        """Float values need only meet conditions on weights: a figure of one quantizer keeps its float."""
        where = self.where
        if it.is_float:
            where = {name: values for name, values in where.items() if not is_of_quantizer(name)}
        return holds(where, it.record)

    def is_at(self, it):
        """Whether `at` chooses the checkpoint of its line."""
        return self.at == "all" or (it.is_last if self.at == "last" else it.position == 0)


def _dimensions(given):
    return [given] if isinstance(given, str) else [name for name in given or () if name is not None]


def figures_of(manifest):
    """The Options of the figures that a manifest asks for, or the default ones; unnamed ones named by their kind."""
    given = (manifest.get("report") or {}).get("figures")
    if given is None:
        out = [Options.read(kind, {"right": "lr"} if kind in ("error_vs_tokens", "loss_vs_tokens") else {})
               for kind in DEFAULT]
    else:
        out = [Options.read(each, {}) if isinstance(each, str) else Options.read(*next(iter(
            (kind, options or {}) for kind, options in each.items()))) for each in given]
    taken = {options.name for options in out}
    for options in out:
        number = 1
        while not options.name:
            name = options.kind + ("_%d" % number if number > 1 else "")
            if name not in taken:
                options.name = name
                taken.add(name)
            number += 1
    return out
