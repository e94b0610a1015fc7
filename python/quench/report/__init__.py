"""The report of a run: what `quench report RUN` writes.

    from quench.report import Report
    Report("runs/m").page()                           # the page, as text

content.py has what a report says, from quench.analysis; page.py writes it as a page, files.py as figures and data. Everything is
computed once; the page, the files and JSON only format it.
"""

from ..requirements import need

__all__ = ["Report"]


def __getattr__(name):
    if name != "Report":
        raise AttributeError("module %s has no attribute %s" % (__name__, name))
    need("numpy", "scipy")
    from .content import Report  # noqa: PLC0415

    return Report
