"""`quench submit`, from what the program has worked out (cli/submit.cpp) to the cluster's answer."""

import os
import shutil
import socket
import time
from pathlib import Path

from ..status import FAILED_PRECONDITION, INVALID_ARGUMENT, UNAVAILABLE, Error
from ..texts import printable
from . import Wrong
from .job import Job, bytes_text, duration_text, ranges_text
from .schedulers import ENGINES
from .submission import (Submission, cancel_command, job_text, next_submission, read_submissions, record_submission,
                         unfinished_submissions, write_file)

MOST_SHOWN = 6


def is_open(share):
    return share["open"] > 0 or share["folders"] > 0


def queued_tasks(request, answer):
    """{share: (task, job)} of what earlier submissions left in a queue. Raises Wrong if a task is queued that has another part of
    the work, or if the queue does not tell."""
    out, count = {}, len(request["shares"])
    for submission in read_submissions(request["folder"]):
        states = submission.scheduler.ask(submission, history=False)
        if not states.asked:
            what = "submit: cannot ask whether %s of %s has ended: %s" % (job_text(submission), submission.time, states.unknown)
            if not request["dry_run"]:
                kind = Error if states.is_passing else Wrong
                raise kind(FAILED_PRECONDITION, "%s; if it has, remove %s" % (what, submission.folder))
            answer.warnings.append(what)
        for share, task in sorted(states.tasks.items()):
            if not task.active:
                continue
            if submission.of != count:
                raise Wrong(FAILED_PRECONDITION, "submit: %s has share %d of %d %s; wanted %d shares: wait for it, end it with "
                            "`%s`, or submit with --shares %d" % (job_text(submission), share, submission.of, task.state, count,
                                                                  cancel_command(submission), submission.of))
            out[share] = task, job_text(submission)
    unfinished = unfinished_submissions(request["folder"])
    if unfinished and not request["dry_run"]:
        raise Wrong(FAILED_PRECONDITION, "submit: %s has no submission.json: another `quench submit` is at work, or was killed "
                    "after the cluster may have taken the job; if it is not in the queue, remove the folder" % unfinished[0])
    return dict(sorted(out.items()))


def outlook_text(request, queued):
    shares = request["shares"]

    def total(key):
        return sum(share[key] for share in shares)

    folders = total("folders")
    text = "%s: %d of %d cells are open%s, in %d of %d shares\n" % (
        request["name"], total("open"), total("cells"),
        " and %d %s of weights owed" % (folders, "folder" if folders == 1 else "folders") if folders else "",
        sum(map(is_open, shares)), len(shares))
    if total("blocked"):
        text += "%d cells are blocked: files are missing; `quench plan` says which\n" % total("blocked")
    if total("failed"):
        text += "%d cells failed; --retry failed tries them again\n" % total("failed")
    if queued:
        shown = ["%d (%s%s, %s)" % (share, task.state, task.reason and ": " + task.reason, job)
                 for share, (task, job) in list(queued.items())[:MOST_SHOWN]]
        more = " and %d more" % (len(queued) - MOST_SHOWN) if len(queued) > MOST_SHOWN else ""
        text += "already queued: share %s%s\n" % (", ".join(shown), more)
    return text


def check_paths(job):
    """A line break would end the line of the script that it stands in."""
    for path in job.program, job.here, job.folder:
        if "\n" in path:
            raise Wrong(INVALID_ARGUMENT, "submit: %s: got a path with a line break, wanted one without" % printable(path, 4096))


def send(scheduler, job, files):
    """Makes the job's folder, writes the files, hands them to the scheduler and records what it took. Leaves no folder if nothing
    can have been taken."""
    folder = Path(job.folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        raise Error(FAILED_PRECONDITION, "submit: %s exists: another `quench submit` is at work here" % folder)
    try:
        for name, text in files.items():
            write_file(folder / name, text)
            if name.endswith(".sh"):
                os.chmod(folder / name, (folder / name).stat().st_mode | 0o110)
        number = scheduler.hand_over(folder / next(iter(files)))
    except (Error, OSError) as failure:
        if getattr(failure, "status", None) != UNAVAILABLE:  # else the job may be queued
            shutil.rmtree(folder, ignore_errors=True)
        raise
    sent = Submission(folder, scheduler, number, job.shares, job.of, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                      socket.gethostname())
    record_submission(sent)
    return sent


def sent_text(request, sent, job):
    return "%s: %s %s of %d, each with %d CPUs, %s%s, %s\nscripts and logs: %s\nfollow it: quench status %s; end it: %s\n" % (
        job_text(sent), "share" if len(job.shares) == 1 else "shares", ranges_text(job.shares), job.of, job.cpus,
        bytes_text(job.memory), ", %d GPUs" % job.gpus if job.gpus else "", duration_text(job.seconds), job.folder,
        request["folder"], cancel_command(sent))


def submission_json(engine, job, files, sent):
    return {"scheduler": engine.name, "job": sent and sent.job, "shares": job.shares, "of": job.of, "folder": job.folder,
            "cpus": job.cpus, "memory_bytes": job.memory, "seconds": job.seconds, "gpus": job.gpus, "files": files}


def warn_of_keys(engine, job, request, answer):
    if request["unknown"] and "memory" not in request["cluster"]:
        answer.warnings.append("submit: what weights take that are still on the hub is not known; say `memory` and `time` under "
                               "`cluster`")
    for key in ("partition", "qos") if engine.name == "htcondor" else ():
        if getattr(job, key):
            answer.warnings.append("cluster: `%s` means nothing to HTCondor; use `htcondor: [requirements = ...]`" % key)


def submit(request, answer):
    """Fills the answer. Raises Error and OSError."""
    engine = ENGINES.get(request["to"] or request["cluster"].get("to"))
    if engine is None:
        raise Wrong(INVALID_ARGUMENT, "submit: --to is missing: wanted --to slurm or --to htcondor, or `to` under `cluster` in "
                    "the manifest")
    queued = queued_tasks(request, answer) if engine.takes_jobs else {}
    shares = request["shares"]
    answer.data = {"name": request["name"], "folder": request["folder"], "submission": None, "shares": [
        {"share": "%d/%d" % (number, len(shares)), **share, "queued": queued[number][0].state if number in queued else None}
        for number, share in enumerate(shares, 1)]}
    if engine.takes_jobs and not request["dry_run"]:
        answer.text += outlook_text(request, queued)
    to_send = [number for number, share in enumerate(shares, 1) if is_open(share) and number not in queued]
    job = Job(request, to_send, os.path.abspath(next_submission(request["folder"])))
    warn_of_keys(engine, job, request, answer)
    if not to_send:
        answer.text += "nothing to submit\n"
        return
    check_paths(job)
    files, sent = engine.files(job, request["template"]), None
    if engine.takes_jobs and not request["dry_run"]:
        sent = send(engine, job, files)
        answer.text += sent_text(request, sent, job)
    else:
        answer.text += "".join("==> %s/%s <==\n%s\n" % (job.folder, name, text) if engine.takes_jobs else text
                               for name, text in files.items())
    answer.data["submission"] = submission_json(engine, job, files, sent)
