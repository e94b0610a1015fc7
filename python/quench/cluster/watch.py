"""What `quench status` shows of the tasks that `quench submit` sent to a cluster."""

from ..status import Error
from ..texts import printable
from .job import ranges_text
from .schedulers import Task
from .submission import job_text, read_submissions


def tasks_of(submission, states):
    """{share: Task}, by the cluster's word or by its silence."""
    silent = Task("ended" if states.asked and not states.unknown else "unknown", "", False)
    return {share: states.tasks.get(share, silent) for share in submission.shares}


def job_json(submission, states):
    return {"scheduler": submission.scheduler.name, "job": submission.job, "submitted": submission.time, "of": submission.of,
            "tasks": [{"share": share, "state": task.state, "reason": task.reason}
                      for share, task in tasks_of(submission, states).items()], "unknown": states.unknown}


def job_line(submission, states):
    """"slurm job 12 of 2026-11-23T17:20:05Z, shares of 8: pending (Resources) 3,5; running 1-2"."""
    by_state = {}
    for share, task in tasks_of(submission, states).items():
        by_state.setdefault((task.state, task.reason), []).append(share)
    parts = ["%s%s %s" % (state, " (%s)" % printable(reason) if reason else "", ranges_text(sorted(shares)))
             for (state, reason), shares in sorted(by_state.items())]
    return "%s of %s, shares of %d: %s%s\n" % (job_text(submission), submission.time, submission.of, "; ".join(parts),
                                               " (%s)" % states.unknown if states.unknown else "")


def watch(run):
    """The last submission of a run, and earlier ones of which a task is queued or runs: the text, and JSON of each."""
    text, jobs, alive = "", [], False
    try:
        submissions = read_submissions(run)
    except Error as failure:
        return {"text": "cluster: %s\n" % failure, "jobs": [], "active": False}
    for submission in submissions:
        last = submission is submissions[-1]
        states = submission.scheduler.ask(submission, history=last)
        active = any(task.active for task in states.tasks.values())
        if active or last:
            text += job_line(submission, states)
            jobs.append(job_json(submission, states))
        alive = alive or active
    return {"text": text, "jobs": jobs, "active": alive}
