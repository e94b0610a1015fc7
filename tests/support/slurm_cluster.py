"""A Slurm of one node on this machine, for tests: munged, slurmctld and slurmd in a folder of their own.

Needs Debian's slurmctld, slurmd, slurm-client and munge, of which it starts the programs and no service; any user may. Two
partitions: `low` (the usual one; its jobs are preempted and requeued) and `high`.
"""
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo"]
PATH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=1,sched_min_interval=0,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait={kill_wait}
MinJobAge={remembered}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=low Nodes={host} Default=YES PriorityTier=1 MaxTime=60 State=UP
PartitionName=high Nodes={host} PriorityTier=10 PreemptMode=OFF State=UP
"""


def missing():
    """What a cluster needs and this machine lacks."""
    lacks = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    return lacks + ([] if os.path.ismount("/sys/fs/cgroup") else ["a file system at /sys/fs/cgroup"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """Runs while the `with` statement does. `environment` leads Slurm's commands to it."""

    def __init__(self, folder, cpus=2, kill_wait=10, remembered=300):
        self.folder = Path(folder)
        self.host = socket.gethostname().split(".")[0]
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.settings = {"folder": self.folder, "host": self.host, "cpus": cpus, "kill_wait": kill_wait,
                         "remembered": remembered, "user": subprocess.check_output(["id", "-un"], text=True).strip()}
        self.daemons = []

    def __enter__(self):
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)  # munge wants a path to its socket that everybody may walk
        self.settings.update(controller_port=free_port(), node_port=free_port())
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(**self.settings))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                   f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                   f"--seed-file={self.folder}/munged.seed")
        self.wait_until(lambda: (self.folder / "munge.socket").exists(), "munged has a socket")
        self.start("slurmctld", "-D", "-f", self.folder / "slurm.conf")
        self.start("slurmd", "-D", "-f", self.folder / "slurm.conf")
        self.wait_until(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"), "the node is idle")
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--full", "-u", self.settings["user"])
        deadline = time.monotonic() + 30
        while self.ask("squeue", "-h") and time.monotonic() < deadline:
            time.sleep(0.5)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def start(self, *words):
        log = open(self.folder / f"{words[0]}.out", "wb")
        self.daemons.append(subprocess.Popen(list(map(str, words)), env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=subprocess.STDOUT, start_new_session=True))

    def run(self, *words):
        return subprocess.run(list(map(str, words)), env=self.environment, capture_output=True, text=True, check=False)

    def ask(self, *words):
        return self.run(*words).stdout.strip()

    def wait_until(self, holds, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}"
                                 for path in sorted(self.folder.glob("*.out")) + sorted(self.folder.glob("*.log")))
                raise RuntimeError(f"not within {seconds} s: {what}\n{self.ask('squeue')}\n{logs}")
            time.sleep(0.2)

    def tasks(self):
        """The tasks that Slurm remembers: {(array, index): (state, reason)}."""
        lines = self.ask("squeue", "-h", "-r", "-t", "all", "-o", "%F|%K|%T|%r").splitlines()
        return {(f[0], f[1]): (f[2], f[3]) for f in (line.split("|", 3) for line in lines)}

    def hurry(self):
        """Starts requeued tasks now; Slurm lets them wait for two minutes."""
        for (array, index), (state, reason) in self.tasks().items():
            if state == "PENDING" and reason == "BeginTime":
                self.run("scontrol", "update", f"JobId={array}_{index}", "StartTime=now")
