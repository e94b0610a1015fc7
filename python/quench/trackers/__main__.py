"""Sends the values of a run to an experiment tracker: what `quench export` starts.

Exit codes: 0 all is sent, 1 it is not, 2 a wrong command line, 130 stopped by Ctrl-C.
"""

import argparse
import importlib
import os
import re
import signal
import sys
import threading

from ..requirements import remedy
from ..run_records import NewerVersion, read_run
from ..run_status import Watcher
from .lines import tracked_lines
from .sending import Sender

POLL_SECONDS = 2
CLIENTS = ("mlflow", "tensorboard", "trackio", "wandb")  # what is imported


class Failure(Exception):
    """What went wrong, as one line for people."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, "%s: %s; see `%s --help`\n" % (self.prog, message, self.prog))


def arguments(words=None):
    """The command line. Ends the process with 2 where it is wrong."""
    parser = Parser(prog="quench export", description=__doc__.splitlines()[0])
    parser.add_argument("run", metavar="RUN", help="folder of the run")
    parser.add_argument("--to", required=True, choices=CLIENTS)
    parser.add_argument("-o", "--out", metavar="DIR", help="folder to write to (default: RUN/tensorboard, RUN/wandb; trackio's own)")
    parser.add_argument("--server", metavar="URL", help="server to send to; wandb writes files where none is named")
    parser.add_argument("--experiment", metavar="NAME", help="experiment or project (default: the folder's name)")
    parser.add_argument("--follow", action="store_true", help="go on until nothing runs any more")
    options = parser.parse_args(words)
    if not os.path.isdir(options.run):
        parser.error("%s: no such folder" % options.run)
    if options.server and not re.match("[a-z+-]+:", options.server):  # MLflow would make a folder of this name
        parser.error("--server: got %s, wanted a URL such as http://127.0.0.1:5000" % options.server)
    if options.to == "mlflow" and not options.server:
        parser.error("--to mlflow: wants --server URL")
    if options.to == "mlflow" and options.out:
        parser.error("--to mlflow: writes no files, so --out has no meaning")
    if options.to in ("tensorboard", "trackio") and options.server:
        parser.error("--to %s: writes files, so --server has no meaning" % options.to)
    return options


def open_tracker(options):
    """The tracker that is asked for. Raises Failure where its client is not installed."""
    if options.to == "trackio" and options.out:
        os.environ["TRACKIO_DIR"] = os.path.abspath(options.out)
    try:
        module = importlib.import_module("." + options.to, __package__)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != options.to:
            raise
        raise Failure("%s has no module %s: %s" % (sys.executable, options.to, remedy([options.to])))
    name = options.experiment or os.path.basename(os.path.realpath(options.run))
    if options.to == "tensorboard":
        return module.TensorBoard(options.out or os.path.join(options.run, "tensorboard"))
    if options.to == "mlflow":
        return module.MLflow(options.server, name)
    if options.to == "trackio":
        return module.Trackio(name)
    if options.server:
        return module.OnlineWandb(options.out or options.run, name, options.server)
    return module.OfflineWandb(options.out or options.run, name)


def fingerprint(folder):
    """What changes when there is anything new to read in a run."""
    return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in os.scandir(folder)
                  if entry.name.startswith(("records-", "tombstone-")))


def tell(tracker, counts):
    kinds = ("new", "extended", "replaced", "unchanged")
    print("%s: %d values sent; lines: %s" % (
        tracker.place, counts["values"], ", ".join("%d %s" % (counts[kind], kind) for kind in kinds)), flush=True)


def send_all(options, tracker, stopped):
    """Sends what is there; with --follow until no process works on the run, or `stopped` is set."""
    sender, watcher, sent, damaged = Sender(tracker), Watcher(), None, []
    while True:
        runs = options.follow and watcher.runs(options.run)  # asked first: what came before the end is sent
        now = fingerprint(options.run)
        if now != sent:
            damaged = []
            records = read_run(options.run, damaged)
            if records:
                counts = sender.send(tracked_lines(records))
                if counts["values"] or sent is None:
                    tell(tracker, counts)
            elif not runs:
                raise Failure("%s: has no records" % options.run)
            sent = now
        if not runs or stopped.wait(POLL_SECONDS):
            break
    if damaged:
        print("%s: %d lines do not count; `quench verify` lists them" % (options.run, len(damaged)), file=sys.stderr)


def stop_on_signals():
    """An event that Ctrl-C or SIGTERM sets; a second Ctrl-C interrupts what is being sent."""
    stopped = threading.Event()

    def stop(number, frame):
        if stopped.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stopped.set()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    return stopped


def main():
    options = arguments()
    stopped = stop_on_signals()
    try:
        tracker = open_tracker(options)
        try:
            send_all(options, tracker, stopped)
        finally:
            tracker.finish()
    except KeyboardInterrupt:
        return 130
    except (Failure, NewerVersion) as failure:
        print(failure, file=sys.stderr)
        return 1
    except Exception as failure:  # a client's: nothing here knows which there are
        text = "%s: %s: %s" % (options.to, type(failure).__name__, " ".join(str(failure).split()))
        print(text[:1000], file=sys.stderr)
        return 1
    return 130 if stopped.is_set() else 0


if __name__ == "__main__":
    sys.exit(main())
