"""What `quench report` starts, and `quench run` at its end."""

import argparse
import json
import os
import signal
import sys
import threading

from ..run_records import NewerVersion
from ..texts import nearest, printable

_MOST_FINDINGS = 8
_RELOAD = 10  # seconds after which a browser loads a page anew that is watched


class UsageError(Exception):
    """What a command line asks for that is not there, as one line."""


def _options():
    parser = argparse.ArgumentParser(prog="quench report", description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--format", default="html", choices=("html", "pdf", "svg", "png", "csv"))
    parser.add_argument("--out")
    parser.add_argument("--figure")
    parser.add_argument("--json", action="store_true", help="print contrasts, cells and failures")
    parser.add_argument("--plotly", help="plotly.js, packed by gzip")
    parser.add_argument("--watch", action="store_true", help="make the page again as records arrive")
    parser.add_argument("--conclude", action="store_true", help="write the page and print findings")
    return parser.parse_args()


def _chosen(report, name):
    out = [figure for figure in report.figures if name in (None, figure.name)]
    if not out:
        names = [figure.name for figure in report.figures]
        near = nearest(name or "", names)
        raise UsageError("--figure %s: there %s; %s" % (
            printable(name or ""), "is none of that name" if names else "is no figure",
            "did you mean %s?" % near if near else "there are " + ", ".join(names)))
    return out


def _write_page(report, folder, plotly, reload=None):
    from .files import write_atomically  # noqa: PLC0415

    os.makedirs(folder, exist_ok=True)
    return write_atomically(os.path.join(folder, "report.html"), report.page(plotly, reload))


def _records(folder):
    """The sizes of the files of records, which grow with each."""
    sizes = {}
    for name in os.listdir(folder):
        if name.startswith("records-"):
            try:
                sizes[name] = os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:  # merged since
                pass
    return sizes


def _watch(options, made):
    """Writes the page again as records arrive, until it is interrupted; browsers load it anew until then."""
    folder, seen, stop = options.out or options.run, None, threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda *_: stop.set())
    print(os.path.join(folder, "report.html") + ": written again as records arrive, until Ctrl-C", flush=True)
    while not stop.is_set():
        found = _records(options.run)
        if found and any(found.values()) and found != seen:
            _write_page(made(), folder, options.plotly, _RELOAD)
            seen = found
        stop.wait(_RELOAD / 4)
    if seen is not None:
        _write_page(made(), folder, options.plotly)


def _tell(report, options):
    from ..analysis.sentences import CAVEATS  # noqa: PLC0415
    from .expected import agreement  # noqa: PLC0415
    from .files import write_figures  # noqa: PLC0415

    if options.json:
        json.dump(report.json(), sys.stdout, ensure_ascii=False)
    elif options.conclude:
        findings, caveats = ([text for text in report.findings if (text in CAVEATS) == is_caveat] for is_caveat in (False, True))
        shown = len(findings) if len(findings) <= _MOST_FINDINGS else _MOST_FINDINGS - 1
        for line in findings[:shown]:
            print(line)
        if shown < len(findings):
            print("... and %d more in the report" % (len(findings) - shown))
        for line in caveats:  # however many findings there are
            print(line)
        agreed = agreement(report.run, (report.about or {}).get("manifest"))
        if agreed:
            print(agreed)
        print("report: " + _write_page(report, options.run, options.plotly))
    elif options.format == "html":
        print(_write_page(report, options.out or options.run, options.plotly))
    else:
        for path in write_figures(report, _chosen(report, options.figure), options.format,
                                  options.out or os.path.join(options.run, "figures")):
            print(path)


def main():
    options = _options()
    from .content import Report  # noqa: PLC0415, numpy takes a while
    from .files import NothingToDraw  # noqa: PLC0415
    from .fonts import complaints  # noqa: PLC0415

    try:
        with complaints():
            if options.watch:
                _watch(options, lambda: Report(options.run))
            else:
                _tell(Report(options.run), options)
    except UsageError as fault:
        print(fault, file=sys.stderr)
        return 2
    except (NewerVersion, NothingToDraw, ValueError, ImportError) as fault:
        print(fault, file=sys.stderr)
        return 1
    except OSError as fault:
        print("%s: %s" % (fault.filename or options.run, fault.strerror or fault), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
