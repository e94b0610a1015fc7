"""The figures of a run, by matplotlib.

    from quench.analysis import figures
    axes = figures.error_vs_tokens(run, lines="branch", panels="bits", right="lr")
    axes[0].figure.savefig("errors.pdf")

Every figure is a function of a run that returns the axes of its panels. The keywords of all are the options of
docs/report.md (`where`, and by kind `lines`, `panels`, `x`, `y`, `right`, `spread`, `at`, `range`, `title`) and those of draw():
`colors` ({"late": "crimson"}), `columns`, `axes`. run.figure_data() has the numbers and the caption, which says what the bars mean.
"""

from ..section import OPTIONS
from . import depth as depths
from . import landscapes, losses, training
from .data import Figure, Palette
from .draw import draw
from .options import Options, figures_of

_MAKERS = {"error_vs_tokens": losses.curves, "loss_vs_tokens": losses.curves, "loss_plane": losses.loss_plane,
           "accuracy_vs_loss": losses.accuracy_vs_loss, "loss_vs_bytes": losses.loss_vs_bytes, "bars": losses.bars,
           "contour": landscapes.contour, "spectrum": landscapes.spectrum,
           "depth": depths.depth}
KINDS = tuple(kind for kind in OPTIONS if kind != "table")


def figure_data(run, options, palette):
    """The figure as data.Figure: panels of traces, legend, caption."""
    if options.kind == "training_loss":
        out = training.training_loss(options, training.training_curves(run), palette).drop_empty()
    else:
        kept = [it for it in run.observations if options.keeps(it)]
        rates = {"schedules": training.schedules(run, kept)} if options.right == "lr" else {}
        out = _MAKERS[options.kind](options, kept, palette, **rates).drop_empty()
        if options.share_y:
            out.share_y()
        if options.kind in ("error_vs_tokens", "loss_vs_tokens"):
            out.share_x()
        if run.failed:
            out.caption += " %d failed %s not drawn." % (
                len(run.failed), "cell of the run is" if len(run.failed) == 1 else "cells of the run are")
    out.name = options.name or options.kind
    out.width, out.height = options.width, options.height
    return out


def error_vs_tokens(run, **options):
    """ΔQL in percent (`y="delta"`: ΔCE in nats per token) along the training, with 95 % intervals."""
    return run.figure("error_vs_tokens", **options)


def loss_vs_tokens(run, **options):
    """The loss of the float and of the quantized models along the training, in nats per token."""
    return run.figure("loss_vs_tokens", **options)


def training_loss(run, **options):
    """The loss of each step's batch of what the run trained, with the learning rate below."""
    return run.figure("training_loss", **options)


def loss_plane(run, **options):
    """Float loss against quantized loss, in nats per token, with lines of equal ΔQL."""
    return run.figure("loss_plane", **options)


def accuracy_vs_loss(run, **options):
    """The accuracy that quantization costs, in percentage points, against ΔCE."""
    return run.figure("accuracy_vs_loss", **options)


def loss_vs_bytes(run, **options):
    """The loss over the bytes of all weights as they are stored."""
    return run.figure("loss_vs_bytes", **options)


def bars(run, **options):
    """ΔCE (`y="error"`: ΔQL) of each method at the last checkpoint of each branch."""
    return run.figure("bars", **options)


def contour(run, **options):
    """The loss over planes and lines through weight space."""
    return run.figure("contour", **options)


def spectrum(run, **options):
    """The density of the Hessian's eigenvalues."""
    return run.figure("spectrum", **options)


def depth(run, **options):
    """The error of each part of the model (rows) along the training (columns): where the damage enters."""
    return run.figure("depth", **options)
