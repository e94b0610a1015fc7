"""What is sent to a cluster: one task per share of a run, all asked for alike."""

import math

KIBI, MEBI, GIBI = 1 << 10, 1 << 20, 1 << 30
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%")


def ranges_text(numbers):
    """"1-3,5": ascending numbers as ranges."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join("%d" % first if first == last else "%d-%d" % (first, last) for first, last in parts)


def shell_word(word):
    """A word as a shell reads it back."""
    return word if word and PLAIN.issuperset(word) else "'%s'" % word.replace("'", "'\\''")


def bytes_text(count):
    """"12.5 MiB", "5.9 GiB"."""
    return "%.1f MiB" % (count / MEBI) if count < GIBI else "%.1f GiB" % (count / GIBI)


def duration_text(seconds):
    """"42 s", "3 min 05 s", "2 h 10 min"; whole seconds."""
    if seconds < 60:
        return "%d s" % seconds
    return "%d min %02d s" % divmod(seconds, 60) if seconds < 3600 else "%d h %02d min" % (seconds // 3600, seconds // 60 % 60)


def requested_memory(predicted):
    """A quarter more than predicted, in whole GiB, at least 1 GiB."""
    return max(1, -(-(predicted + predicted // 4) // GIBI)) * GIBI


def requested_seconds(expected):
    """Twice what is expected of the longest share, in steps of 10 minutes, from 30 minutes to 366 days: a task that takes longer
    is stopped and put back into the queue, which costs little."""
    return int(min(max(3, math.ceil(2 * max(0.0, expected) / 600)), 366 * 144)) * 600


class Job:
    """One submission, from the program's request. Amounts are in bytes and seconds."""

    def __init__(self, request, shares, folder):
        cluster = request["cluster"]
        self.run = request["name"]
        self.program, self.arguments, self.here = request["program"], request["arguments"], request["here"]
        self.environment = request["environment"]  # pairs
        self.folder = folder  # absolute: scripts and logs
        self.before = cluster.get("before", [])  # lines of shell
        self.shares, self.of = shares, len(request["shares"])
        self.at_once = cluster.get("at_once")
        self.cpus = request["cpus"]
        self.memory = cluster.get("memory") or requested_memory(request["memory"])
        self.time_is_chosen = "time" in cluster  # by the user, not from an estimate
        self.seconds = cluster.get("time") or requested_seconds(
            max((request["shares"][share - 1]["seconds"] for share in shares), default=0))
        self.disk = cluster.get("disk")
        self.gpu_type, _, count = cluster.get("gpus", "1" if request["on_gpu"] else "0").rpartition(":")  # 2, or a100:2
        self.gpus = int(count)
        self.grace, self.requeue, self.retries = cluster["grace"], cluster["requeue"], cluster["retries"]
        self.partition, self.account, self.qos = (cluster.get(key) for key in ("partition", "account", "qos"))
        self.lines = {"slurm": cluster.get("slurm", []), "htcondor": cluster.get("htcondor", [])}

    def values(self):
        """The placeholders of every template."""
        return {
            "run": self.run, "shares": ranges_text(self.shares), "of": self.of, "at_once": self.at_once, "cpus": self.cpus,
            "memory_mib": -(-self.memory // MEBI), "disk_mib": -(-self.disk // MEBI) if self.disk else None,
            "disk_kib": -(-self.disk // KIBI) if self.disk else None, "seconds": self.seconds, "gpus": self.gpus or None,
            "gpu_type": self.gpus and self.gpu_type or None, "grace": self.grace, "retries": self.retries,
            "partition": self.partition, "account": self.account, "qos": self.qos, "folder": self.folder, "here": self.here,
            "environment": ["%s=%s" % (name, shell_word(value)) for name, value in self.environment], "before": self.before,
            "quench": " ".join(map(shell_word, [self.program, *self.arguments])), "cd": shell_word(self.here),
            "if_requeue": "" if self.requeue else None,  # at the beginning of lines that are for it
        }
