"""Analysis of what runs measured, in Python with numpy and scipy: paired contrasts, their intervals, data frames and figures.

    import quench
    run = quench.load("runs/olmo2")
    run.frame()                                       # pandas: one row per value, with ΔCE and its dimensions
    run.contrast("gptq", "rtn", match=["bits"])       # pandas: one row per pair and spread

dimensions.py names what values differ in, observations.py pairs each with its float model's, section.py and spec.py read what a
manifest asks for, selection.py finds what names mean, pairing.py says which cells stand against each other; they need nothing but
Python. intervals.py, statistics.py and scaling.py compute, contrasts.py puts them together, run.py is what a notebook holds. docs/analysis.md
shows how to use it.
"""

from ..requirements import need

__all__ = ["Run"]


def __getattr__(name):
    if name != "Run":
        raise AttributeError("module %s has no attribute %s" % (__name__, name))
    need("numpy", "scipy")
    from .run import Run  # noqa: PLC0415

    return Run
