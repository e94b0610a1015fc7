"""Slurm and HTCondor: the scripts that a job becomes, the commands that take it, and what they say of its tasks.

Slurm's script runs the program beside the shell: bash runs a trap only when `wait` returns, and asks again after a signal,
because the first answer was the signal's. A task requeues itself by array and index: one task of the array has the array's own
number as SLURM_JOB_ID, and under that number Slurm requeues all tasks, cancelled ones too.

HTCondor's description has a time limit only if the user chose one: most pools have none, and a job must not be held because an
estimate was wrong. Hold reason 47: it ran for longer than that. Evicted, a job gets SIGTERM and `job_max_vacate_time` to write
its state; it is idle again then.
"""

import json
import re
import subprocess
from collections import namedtuple
from pathlib import Path

from ..status import FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, UNAVAILABLE, Error
from ..texts import printable
from . import Wrong
from .template import fill

PATIENCE = 120  # seconds: controllers under load answer late
MOST_INDICES = 1_000_000  # of one line of sacct
SLURM_ENDS = {"completed", "failed", "cancelled", "timeout", "preempted", "node fail", "out of memory", "boot fail", "deadline",
              "revoked", "launch failed"}
CONDOR_STATES = dict(enumerate(["idle", "running", "removed", "completed", "held", "transferring output", "suspended"], 1))

# What sbatch says of a job that it refuses, and what to change.
SLURM_REMEDIES = (("invalid account|account/partition", "another `cluster.account`"), ("invalid qos", "another `cluster.qos`"),
                  ("gres|tres", "other `cluster.gpus`"), ("requested time limit|maxwall", "a shorter `cluster.time`"),
                  ("memory specification|memory limit", "less `cluster.memory`"),
                  ("node configuration is not available|cpu count", "fewer `cluster.cpus` or `gpus`, or less `memory`"))

# `active`: queued or running, so that it may still do something. `reason`: why it waits or is held, or "".
Task = namedtuple("Task", "state reason active")
# `tasks`: by share; one that is missing has ended, if the queue was asked. `unknown`: why not all is known, or "".
# is_passing: the queue did not tell, but may tell later without any change of the user's.
States = namedtuple("States", "tasks unknown asked is_passing", defaults=(False,))
Output = namedtuple("Output", "code out err late")


def call(words):
    """A command of the cluster, run to its end."""
    try:
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return Output(137, "", "", True)
    except FileNotFoundError:
        raise Error(NOT_FOUND, "no %s on PATH" % words[0])
    except OSError as failure:
        raise Error(FAILED_PRECONDITION, "%s: cannot be started: %s" % (words[0], failure.strerror))
    return Output(ended.returncode, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace"), False)


def first_line(output):
    """The first line that says something."""
    if output.late:
        return "no answer in %d s" % PATIENCE
    lines = (output.err.lstrip() or output.out.lstrip()).split("\n")
    return printable(lines[0], 400) if lines[0] else "exit code %d" % output.code


def slurm_task(word, reason):
    """"CANCELLED by 1000" is "cancelled", "NODE_FAIL" is "node fail". A state that is not known to be an end counts as active: so
    nothing is sent twice."""
    state = re.split("[ +]", word)[0].lower().replace("_", " ")
    active = state not in SLURM_ENDS
    waits = active and state != "running" and reason not in ("None", "(null)")
    return Task(state, reason if waits else "", active)


def parse_squeue(text, job):
    """{index: Task} of `squeue -h -r -t all -o %F|%K|%T|%r`; other arrays than `job` are left out."""
    tasks = {}
    for line in text.splitlines():
        fields = line.split("|", 3)
        if len(fields) == 4 and fields[0] == job and fields[1].strip().isdecimal():
            tasks[int(fields[1])] = slurm_task(*fields[2:])
    return tasks


def indices_of(text):
    """The numbers of "3,5-7%2"; none if it has another form."""
    out = []
    for part in text.partition("%")[0].split(","):
        ends = re.fullmatch(r" *(\d{1,18})(?:-(\d{1,18}))? *", part, re.ASCII)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if last < first or last - first + len(out) >= MOST_INDICES:
            return []
        out += range(first, last + 1)
    return out


def parse_sacct(text, job):
    """{index: Task} of `sacct -n -X -P -o JobID,State`. Pending tasks stand in one line: 12_[3,5-7%2]."""
    tasks = {}
    for line in text.splitlines():
        name, _, state = line.partition("|")
        if state and name.startswith(job + "_"):
            index = name[len(job) + 1:]
            for each in indices_of(index[1:-1] if index[:1] == "[" and index[-1:] == "]" else index):
                tasks[each] = slurm_task(state, "")
    return tasks


def parse_condor(text):
    """{process: Task} of `condor_q JOB -af:, ProcId JobStatus ExitCode HoldReason`, or of condor_history."""
    tasks = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",", 3)] + [""] * 3
        if not fields[0].isdecimal() or not fields[1].isdecimal():
            continue
        status, code = int(fields[1]), fields[2]
        state, reason = CONDOR_STATES.get(status, "status %d" % status), fields[3] if status == 5 else ""
        if status == 4 and re.fullmatch(r"-?\d+", code, re.ASCII) and int(code) != 0:
            state, reason = "failed", "exit code " + code
        tasks[int(fields[0])] = Task(state, reason, status not in (3, 4))
    return tasks


class Files:
    """What is pasted for an engine that `submit` does not speak with."""

    takes_jobs = False

    def __init__(self, name, templates):
        self.name, self.templates = name, templates  # {name of the file: its template}

    def values(self, job):
        return {}

    def files(self, job, template):
        """{name: text}, the one that `template` may replace first. Raises Wrong and OSError."""
        out, values = {}, dict(job.values(), **self.values(job))
        for name, usual in self.templates.items():
            path = Path(template) if template and not out else Path(__file__).parent / "templates" / usual
            out[name] = fill(path.read_text("utf-8", "surrogateescape"), values, path)
        return out


class Kubernetes(Files):
    def __init__(self):
        super().__init__("kubernetes", {"job.yaml": "kubernetes.yaml"})

    def values(self, job):
        label = re.sub("[^a-z0-9]+", "-", job.run.lower())[:40].strip("-")
        values = job.values()
        script = "".join("export %s\n" % each for each in values["environment"]) + "".join(
            line + "\n" for line in job.before) + "exec %s --share auto/%d --threads %d" % (values["quench"], job.of, job.cpus)
        return {"label": json.dumps("quench-" + label if label else "quench"), "workdir": json.dumps(job.here),
                "parallelism": job.at_once or job.of, "backoff": job.retries if job.requeue else 0, "script": json.dumps(script)}


class Scheduler(Files):
    takes_jobs = True

    def hand_over(self, file):
        """The number that the cluster gives to the job in this file."""
        try:
            output = call([*self.submits, str(file)])
        except Error as failure:
            if failure.status != NOT_FOUND:
                raise
            raise Wrong(NOT_FOUND, "submit: %s: wanted a machine from which %s takes jobs; --dry-run prints what would be "
                        "submitted" % (failure, self.title))
        if output.late:
            raise Error(UNAVAILABLE, "submit: %s: %s; look into the queue whether it has taken the job, cancel it there, and "
                        "remove %s" % (self.submits[0], first_line(output), file.parent))
        job = re.search(r"\d+", output.out, re.ASCII)  # of "12", "12;cluster", "12.0 - 12.7"
        if output.code != 0 or not job:
            what = re.sub(r"^%s: (error: )?" % re.escape(Path(self.submits[0]).name), "", first_line(output))  # it names itself
            said = "submit: %s: %s" % (self.submits[0], what)
            if self.is_too_large(output):
                raise Wrong(INVALID_ARGUMENT, said + "; the cluster allows fewer tasks of one job: submit with fewer --shares")
            remedy = self.remedy(output)
            raise (Wrong if "wanted" in remedy else Error)(FAILED_PRECONDITION, said + remedy)
        return job[0]

    def remedy(self, refusal):
        """What to do next, as the end of the message."""
        return "; look into the queue whether it has taken the job; --dry-run prints what was sent"

    def is_too_large(self, refusal):
        """Whether the job was refused for the number of its tasks, or for their indices."""
        return False

    def ask(self, submission, history):
        """The States of a submission, with `history` also of tasks that have left the queue."""
        try:
            queue = call(self.queue(submission.job))
        except Error as failure:
            return States({}, str(failure), False, failure.status != NOT_FOUND)
        if queue.code != 0 and not self.has_forgotten(queue):
            return States({}, "%s: %s" % (self.queue("")[0], first_line(queue)), False, True)
        tasks, unknown = self.by_share(queue.out, submission, self.parse_queue), ""
        if history and len(tasks) != len(submission.shares):
            try:
                ended = call(self.archive(submission.job))
                if ended.code != 0:
                    raise Error(FAILED_PRECONDITION, "%s: %s" % (self.archive("")[0], first_line(ended)))
                for share, task in self.by_share(ended.out, submission, self.parse_archive).items():
                    tasks.setdefault(share, task._replace(active=False))  # the queue, which decides, does not have it
            except Error as failure:
                unknown = str(failure)
        return States(tasks, unknown, True)

    def has_forgotten(self, queue):
        return False


class Slurm(Scheduler):
    title, submits, cancels = "Slurm", ["sbatch", "--parsable"], "scancel"
    parse_queue, parse_archive = staticmethod(parse_squeue), staticmethod(parse_sacct)

    def __init__(self):
        super().__init__("slurm", {"job.sbatch": "slurm.sbatch"})

    def values(self, job):
        def word(text):  # as sbatch reads the rest of a line
            return '"%s"' % re.sub(r'(["\\])', r"\\\1", text) if re.search(r"""[ \t"'\\#]""", text) else text

        days, rest = divmod(job.seconds, 86400)
        clock = "%02d:%02d:%02d" % (rest // 3600, rest // 60 % 60, rest % 60)
        return {"job_name": word("quench-" + job.run), "chdir": word(job.here),
                "array": job.values()["shares"] + ("%%%d" % job.at_once if job.at_once else ""),
                "log": word(job.folder.replace("%", "%%") + "/share-%a.log"), "time": "%d-%s" % (days, clock) if days else clock,
                "gres": "%s%d" % (job.gpu_type + ":" if job.gpu_type else "", job.gpus) if job.gpus else None,
                "notice": min(job.grace, job.seconds // 2), "requeue": "--requeue" if job.requeue else "--no-requeue",
                "lines": job.lines["slurm"]}

    def queue(self, job):
        return ["squeue", "-h", "-r", "-t", "all", "-o", "%F|%K|%T|%r", "-j", job]

    def archive(self, job):
        return ["sacct", "-n", "-X", "-P", "-o", "JobID,State", "-j", job]

    def remedy(self, refusal):
        if "invalid partition" not in refusal.err.lower():
            wanted = [key for said, key in SLURM_REMEDIES if re.search(said, refusal.err, re.IGNORECASE)]
            return "; wanted %s in the manifest" % wanted[0] if wanted else super().remedy(refusal)
        try:
            known = call(["sinfo", "-h", "-o", "%R"])
        except Error:
            known = Output(1, "", "", False)
        names = sorted(set(known.out.split())) if known.code == 0 else []
        return "; wanted `cluster.partition`%s" % (", one of " + ", ".join(printable(name, 100) for name in names[:20]) if names else "")

    def is_too_large(self, refusal):  # MaxArraySize; MaxSubmitJobs of a user or an account
        return re.search("invalid job array|MaxSubmit|array.*too large", refusal.err, re.IGNORECASE) is not None

    def has_forgotten(self, queue):  # jobs leave squeue some minutes after their end
        return "Invalid job id" in queue.err

    def by_share(self, text, submission, parse):
        return parse(text, submission.job)


class Condor(Scheduler):
    title, submits, cancels = "HTCondor", ["condor_submit", "-terse"], "condor_rm"
    parse_queue = parse_archive = staticmethod(parse_condor)

    def __init__(self):
        super().__init__("htcondor", {"job.sub": "htcondor.sub", "task.sh": "htcondor.task"})

    def values(self, job):
        limit = job.seconds if job.time_is_chosen else None
        return {"limit": limit, "releases": job.retries if limit and job.requeue else None, "lines": job.lines["htcondor"],
                "list": ", ".join(map(str, job.shares))}

    def queue(self, job):
        return ["condor_q", job, "-af:,", "ProcId", "JobStatus", "ExitCode", "HoldReason"]

    def archive(self, job):
        return ["condor_history", *self.queue(job)[1:]]

    def by_share(self, text, submission, parse):
        """HTCondor counts the jobs of a cluster from 0, in the order of `queue`."""
        return {submission.shares[process]: task for process, task in parse(text).items() if process < len(submission.shares)}


ENGINES = {engine.name: engine for engine in
           (Slurm(), Condor(), Kubernetes(), Files("generic", {"task.sh": "generic.sh"}))}
