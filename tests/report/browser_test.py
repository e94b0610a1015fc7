#!/usr/bin/env python3
"""The page of a report in a browser: its scripts run under its policy, every point of a figure stands where its value says, and a browser
that cannot unpack plotly.js keeps the static figures.

    browser_test.py SOURCE PLOTLY        PLOTLY: plotly.js, packed
"""
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, PLOTLY = Path(sys.argv[1]), sys.argv[2]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "python/tests")]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PIXEL = 0.6
LETTER = 0.56  # of a title's font, its size: the mean width, a little less than that of DejaVu Sans
POINT = re.compile(r'<path class="point[^"]*" transform="translate\(([-0-9.e]+),([-0-9.e]+)\)')


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(77)


def drawn(page, folder, width=1200):
    """The document after its scripts have run."""
    path = Path(folder) / "page.html"
    path.write_text(page, encoding="utf-8")
    return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=%d,2400" % width, "--dump-dom",
                           "--virtual-time-budget=60000", "--user-data-dir=%s/profile" % folder, path.as_uri()],
                          capture_output=True, text=True, check=True, timeout=240).stdout


def check_panel(panel, piece):
    """Pixels are a linear function of values, upwards on the vertical axis."""
    wanted = [(x, y) for trace in panel.traces if trace.kind in ("line", "interval") for x, y in zip(trace.x, trace.y)]
    got = [tuple(map(float, found)) for found in POINT.findall(piece)]
    assert len(got) == len(wanted), "%s: %d points, wanted %d" % (panel.title, len(got), len(wanted))
    for axis, sign in ((0, 1), (1, -1)):
        (low, first), (high, last) = (choose((value[axis], pixel[axis]) for value, pixel in zip(wanted, got)) for choose in (min, max))
        scale = (last - first) / (high - low)
        assert sign * scale > 0, "%s: axis %d is the wrong way round" % (panel.title, axis)
        for value, pixel in zip(wanted, got):
            assert abs(first + scale * (value[axis] - low) - pixel[axis]) < PIXEL, "%s: %s stands at %s" % (panel.title, value, pixel)


def span_of(piece, name):
    """From where to where a vertical title reaches at most, in pixels from the top of the plot, or None."""
    found = re.search(r'<text class="%s" transform="rotate\(-90,[-\d.]+,([-\d.]+)\)[^>]*font-size: ([\d.]+)px[^>]*>(.*?)</text>'
                      % name, piece)
    if not found:
        return None
    lines = re.findall(r"<tspan[^>]*>(.*?)</tspan>", found[3]) or [found[3]]
    half, middle = LETTER * float(found[2]) * max(map(len, lines)) / 2, float(found[1])
    return middle - half, middle + half


def check_titles(piece):
    """Those of a panel and of the strip under it keep apart, and none is cut."""
    above, below = span_of(piece, "ytitle"), span_of(piece, "y3title")
    assert above and below, "a panel with a strip lacks a title"
    assert above[0] >= 0, "a title is cut: %s" % (above,)
    assert above[1] <= below[0], "titles run into each other: %s and %s" % (above, below)


def main():
    if not BROWSER:
        skip("there is no chromium")
    if not all(map(importlib.util.find_spec, ("numpy", "scipy", "matplotlib"))):
        skip("%s has no numpy, no scipy or no matplotlib" % sys.executable)
    import made_run  # noqa: PLC0415
    from quench.report import Report  # noqa: PLC0415

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        report = Report(made_run.quickstart().write(folder + "/run", {"report": {"figures": [
            "error_vs_tokens", "bars", {"error_vs_tokens": {"name": "rates", "right": "lr"}}]}}))
        page = report.page(PLOTLY)
        dom = drawn(page, folder)
        assert 'data-ready="yes"' in dom, "the page did not become ready"
        pieces = re.split(r'<div class="plot[^>]*role="img"', dom)[1:]
        for panel, piece in zip(report.figures[0].panels, pieces):
            check_panel(panel, piece.split('<div class="static"')[0])
        for width in (1200, 500):  # the second is that of a telephone
            pieces = re.split(r'<div class="plot[^>]*role="img"', dom if width == 1200 else drawn(page, folder, width))[1:]
            for piece in pieces[-len(report.figures[2].panels):]:
                check_titles(piece.split('<div class="static"')[0])
        assert 'data-ready="static"' in drawn(page.replace('id="plotly">', 'id="plotly">!'), folder), "a broken script went unnoticed"


if __name__ == "__main__":
    main()
