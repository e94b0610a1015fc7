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
POINT = re.compile(r'<path class="point[^"]*" transform="translate\(([-0-9.e]+),([-0-9.e]+)\)')


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(77)


def drawn(page, folder):
    """The document after its scripts have run."""
    path = Path(folder) / "page.html"
    path.write_text(page, encoding="utf-8")
    return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,2400", "--dump-dom",
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


def main():
    if not BROWSER:
        skip("there is no chromium")
    if not all(map(importlib.util.find_spec, ("numpy", "scipy", "matplotlib"))):
        skip("%s has no numpy, no scipy or no matplotlib" % sys.executable)
    import made_run  # noqa: PLC0415
    from quench.report import Report  # noqa: PLC0415

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        report = Report(made_run.quickstart().write(folder + "/run", {"report": {"figures": ["error_vs_tokens", "bars"]}}))
        page = report.page(PLOTLY)
        dom = drawn(page, folder)
        assert 'data-ready="yes"' in dom, "the page did not become ready"
        pieces = re.split(r'<div class="plot[^>]*role="img"', dom)[1:]
        for panel, piece in zip(report.figures[0].panels, pieces):
            check_panel(panel, piece.split('<div class="static"')[0])
        assert 'data-ready="static"' in drawn(page.replace('id="plotly">', 'id="plotly">!'), folder), "a broken script went unnoticed"


if __name__ == "__main__":
    main()
