"""What was sent to a cluster, in the run's folder: cluster/<number>/ has the scripts and the logs of one submission, and
submission.json, written when the cluster has taken it."""

import hashlib
import json
import os
import re
from collections import namedtuple
from pathlib import Path

from ..run_records import _unseal
from ..status import DATA_LOSS, FAILED_PRECONDITION, Error
from ..texts import printable
from ..values import canonical
from .schedulers import ENGINES

SCHEMA = 1
FILE = "submission.json"

# `shares`: in the order in which they were sent; `time`: UTC, ISO 8601; `host`: where `quench submit` ran
Submission = namedtuple("Submission", "folder scheduler job shares of time host")


def job_text(submission):
    return "%s job %s" % (submission.scheduler.name, submission.job)


def cancel_command(submission):
    """How to end what was submitted: "scancel 12"."""
    return "%s %s" % (submission.scheduler.cancels, submission.job)


def write_file(path, text):
    """The whole file or none of it."""
    partial = path.with_name(path.name + ".partial")
    with open(partial, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _numbered_folders(run):
    """(number, folder) of each submission, ascending."""
    folder = Path(run) / "cluster"
    names = os.listdir(folder) if folder.is_dir() else []
    return sorted((int(name), folder / name) for name in names
                  if re.fullmatch(r"\d{1,18}", name, re.ASCII) and int(name) > 0)


def _read(folder):
    path = folder / FILE
    line = path.read_bytes().rstrip(b"\n")
    body = _unseal(b"submission", line)
    if body is None:
        raise Error(DATA_LOSS, "%s: %s" % (path, "it does not begin as a sealed line" if line[:14] != b'{"submission":'
                                           else "it is cut short: no checksum at its end" if line[-77:-66] != b',"sha256":"'
                                           else "the checksum does not match"))
    body = json.loads(body)
    try:
        if body["schema"] > SCHEMA:
            raise Error(FAILED_PRECONDITION, "%s: a newer version wrote this submission of schema %d; this one reads up to %d" % (
                path, body["schema"], SCHEMA))
        scheduler = ENGINES.get(body["scheduler"])
        if scheduler is None or not scheduler.takes_jobs:
            raise Error(DATA_LOSS, "%s: got scheduler %s, wanted slurm or htcondor" % (path, json.dumps(body["scheduler"])))
        if not re.fullmatch(r"\d{1,19}", body["job"], re.ASCII):  # it goes into commands that users type
            raise Error(DATA_LOSS, "%s: job = '%s', wanted a number" % (path, printable(body["job"])))
        return Submission(folder, scheduler, body["job"], [int(share) for share in body["shares"]], int(body["of"]),
                          str(body["time"]), str(body["host"]))
    except (KeyError, TypeError, ValueError) as failure:
        raise Error(DATA_LOSS, "%s: not a submission: %s" % (path, printable(repr(failure))))


def read_submissions(run):
    """In order. Raises Error: DATA_LOSS for one that does not verify, FAILED_PRECONDITION for one of a newer version."""
    return [_read(folder) for _, folder in _numbered_folders(run) if (folder / FILE).exists()]


def unfinished_submissions(run):
    """Folders without a submission.json: another `submit` is at work, or was killed while the cluster may have taken the job."""
    return [folder for _, folder in _numbered_folders(run) if not (folder / FILE).exists()]


def next_submission(run):
    """The folder that the next submission gets; it is not made."""
    numbers = [number for number, _ in _numbered_folders(run)]
    return Path(run) / "cluster" / ("%04d" % (max(numbers, default=0) + 1))


def record_submission(submission):
    body = canonical({"schema": SCHEMA, "scheduler": submission.scheduler.name, "job": submission.job,
                      "shares": submission.shares, "of": submission.of, "time": submission.time, "host": submission.host})
    digest = hashlib.sha256(body.encode()).hexdigest()
    write_file(submission.folder / FILE, '{"submission":%s,"sha256":"%s"}\n' % (body, digest))
