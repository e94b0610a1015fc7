"""Jobs of clusters: the scripts that they become, the records of what was submitted, and what a cluster says of its tasks."""

import copy
import json
import os
import signal
import subprocess
import time
import unittest
from pathlib import Path
from unittest import mock

import support

from quench.cluster import Wrong
from quench.cluster.job import Job, bytes_text, duration_text, ranges_text, requested_memory, requested_seconds, shell_word
from quench.cluster.schedulers import ENGINES, parse_condor, parse_sacct, parse_squeue
from quench.cluster.submission import (Submission, next_submission, read_submissions, record_submission,
                                       unfinished_submissions)
from quench.cluster.template import fill
from quench.status import DATA_LOSS, Error

GIBI = 1 << 30
FOLDER = "/home/me/runs/decay/cluster/0001"
CLUSTER = {"at_once": 2, "memory": 3 * GIBI, "time": 2 * 86400 + 3 * 3600 + 600, "disk": 20_000_000_000, "gpus": "a100:2",
           "grace": 300, "requeue": True, "retries": 7, "partition": "gpu", "account": "lab", "qos": "long",
           "before": ["module load python"]}


def some_job(folder=FOLDER, here="/home/me", program="/opt/quench/bin/quench", **changes):
    """A job with every key set; a change to None takes a key out."""
    cluster = {key: value for key, value in {**CLUSTER, **changes}.items() if value is not None}
    request = {"name": "decay", "program": program, "here": here, "cpus": 16, "on_gpu": False, "cluster": cluster, "memory": 0,
               "arguments": ["run", "/home/me/m.yaml", "--out", "/home/me/runs/decay", "--set", "a=it's b"],
               "environment": [["QUENCH_HOME", "/scratch/quench"], ["QUENCH_ISA", "avx2"]], "shares": [{"seconds": 10}] * 8}
    return Job(request, [1, 2, 3, 5], folder)


def files_of(engine, job, template=""):
    return ENGINES[engine].files(job, template)


class Words(unittest.TestCase):
    def test_runs_of_numbers_are_written_as_ranges(self):
        self.assertEqual([ranges_text(each) for each in ([], [4], [1, 2, 3, 5, 8, 9])], ["", "4", "1-3,5,8-9"])

    def test_a_word_is_quoted_where_a_shell_takes_something_in_it_for_its_own(self):
        self.assertEqual([shell_word(each) for each in ("a/b:c=1%", "", "a b", "it's", "ä")],
                         ["a/b:c=1%", "''", "'a b'", "'it'\\''s'", "'ä'"])

    def test_amounts_are_spelled_as_the_program_spells_them(self):
        self.assertEqual([bytes_text(0), bytes_text(3 << 29), bytes_text(3 * GIBI)], ["0.0 MiB", "1.5 GiB", "3.0 GiB"])
        self.assertEqual([duration_text(each) for each in (30, 185, 1800, 14400)],
                         ["30 s", "3 min 05 s", "30 min 00 s", "4 h 00 min"])

    def test_estimates_get_room_in_round_numbers(self):
        self.assertEqual([requested_memory(each) for each in (0, 3 * GIBI, 4 * GIBI, 4 * GIBI + 4)],
                         [GIBI, 4 * GIBI, 5 * GIBI, 6 * GIBI])
        self.assertEqual([requested_seconds(each) for each in (0, 900, 901, 1e300)], [1800, 1800, 2400, 366 * 86400])


class Templates(unittest.TestCase):
    def test_lines_without_a_value_go_and_lists_repeat_theirs(self):
        self.assertEqual(fill("a {{one}}\nb {{none}}\nc {{ many }};{{one}}\n\n", {"one": 1, "none": None, "many": ["x", "{{one}}"]},
                              "t"), "a 1\nc x;1\nc {{one}};1\n")

    def test_an_unknown_placeholder_is_an_error_that_names_its_line(self):
        with self.assertRaises(Wrong) as raised:
            fill("#!/bin/bash\n#SBATCH --mem={{memroy}}\n", {"memory": 1, "cpus": 2}, "my.sbatch")
        self.assertEqual(str(raised.exception), "my.sbatch:2: got the placeholder {{memroy}}, wanted one of cpus, memory; "
                         "did you mean {{memory}}?")


class SlurmScript(unittest.TestCase):
    def test_its_directives_ask_for_what_the_job_says(self):
        script = files_of("slurm", some_job(slurm=["--constraint=avx512"]))["job.sbatch"]
        expected = """#!/bin/bash
# Written by quench submit: shares 1-3,5 of 8 of a run, one task each.
#SBATCH --job-name=quench-decay
#SBATCH --array=1-3,5%2
#SBATCH --chdir=/home/me
#SBATCH --output=/home/me/runs/decay/cluster/0001/share-%a.log
#SBATCH --open-mode=append
#SBATCH --export=ALL
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=3072M
#SBATCH --time=2-03:10:00
#SBATCH --tmp=19074M
#SBATCH --gres=gpu:a100:2
#SBATCH --partition=gpu
#SBATCH --account=lab
#SBATCH --qos=long
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --constraint=avx512

export QUENCH_HOME=/scratch/quench
export QUENCH_ISA=avx2
module load python

/opt/quench/bin/quench run /home/me/m.yaml --out /home/me/runs/decay --set 'a=it'\\''s b' --share "$SLURM_ARRAY_TASK_ID/8" --threads 16 &
"""
        self.assertEqual(script[:len(expected)], expected)
        self.assertTrue(script.endswith('exit "$code"\n'))

    def test_what_is_not_asked_for_has_no_directive(self):
        script = files_of("slurm", some_job(at_once=None, disk=None, gpus=None, partition=None, account=None,
                                            qos=None, requeue=False, time=60))["job.sbatch"]
        self.assertIn("--array=1-3,5\n", script)
        for absent in "--tmp", "--gres", "--partition", "--account", "--qos", "scontrol":
            self.assertNotIn(absent, script)
        self.assertIn("--no-requeue\n", script)
        # The request to stop comes after the first half of a time limit that is shorter than the grace.
        self.assertIn("--signal=B:USR1@30\n", script)

    def test_folders_with_spaces_and_percent_signs_stay_whole(self):
        script = files_of("slurm", some_job(here="/home/my work", folder="/home/my work/runs/50%/cluster/0001"))["job.sbatch"]
        self.assertIn('--chdir="/home/my work"\n', script)
        self.assertIn('--output="/home/my work/runs/50%%/cluster/0001/share-%a.log"\n', script)


class SlurmTask(support.FileTest):
    """A task of a script in a shell of its own. Stand-ins write down what they are asked for: `quench` its words, environment and
    signals, `scontrol` its words."""

    def start(self, code_when_stopped, restarts=0):
        self.program("quench", """\
            #!/bin/bash
            echo "$QUENCH_HOME $*" > words
            stop() { echo $1 >> signals; exit $2; }
            trap 'stop USR1 CODE' USR1
            trap 'stop TERM CODE' TERM
            touch ready
            for i in {1..600}; do [ ! -e end ] || exit 0; sleep 0.05; done
            """.replace("CODE", str(code_when_stopped)))
        self.program("scontrol", "#!/bin/sh\necho \"$@\" >> scontrol.log\n")
        job = some_job(program=os.path.join(self.folder, "quench"), before=[])
        script = self.write(files_of("slurm", job)["job.sbatch"], "job.sbatch")
        environment = {"PATH": self.folder + ":/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_JOB_ID": "77",
                       "SLURM_JOB_ID": "77", "SLURM_RESTART_COUNT": str(restarts)}
        task = subprocess.Popen(["/bin/bash", script], cwd=self.folder, env=environment, start_new_session=True)
        self.addCleanup(self.end, task)
        deadline = time.monotonic() + 20
        while not os.path.exists(os.path.join(self.folder, "ready")) and time.monotonic() < deadline:
            time.sleep(0.05)
        return task

    def end(self, task):
        self.write("", "end")
        task.wait(60)

    def program(self, name, text):
        os.chmod(self.write(text, name), 0o700)

    def text_of(self, name):
        path = Path(self.folder, name)
        return path.read_text() if path.exists() else ""

    def test_it_runs_its_share_with_the_pinned_environment(self):
        task = self.start(75)
        self.write("", "end")
        self.assertEqual(task.wait(60), 0)
        self.assertEqual(self.text_of("words"), "/scratch/quench run /home/me/m.yaml --out /home/me/runs/decay --set a=it's b "
                         "--share 5/8 --threads 16\n")
        self.assertEqual(self.text_of("scontrol.log"), "")

    def test_stopped_at_its_time_limit_it_goes_back_into_the_queue_as_often_as_retries_says(self):
        task = self.start(75, restarts=6)
        task.send_signal(signal.SIGUSR1)
        self.assertEqual(task.wait(60), 75)
        self.assertEqual(self.text_of("signals"), "USR1\n")
        self.assertEqual(self.text_of("scontrol.log"), "requeue 77_5\n")

    def test_stopped_at_its_time_limit_once_more_it_stays(self):
        task = self.start(75, restarts=7)
        task.send_signal(signal.SIGUSR1)
        self.assertEqual(task.wait(60), 75)
        self.assertEqual(self.text_of("scontrol.log"), "")

    def test_cancelled_or_preempted_it_stops_in_order_and_asks_for_nothing(self):
        task = self.start(75)
        task.send_signal(signal.SIGTERM)
        self.assertEqual(task.wait(60), 75)
        self.assertEqual(self.text_of("signals"), "TERM\n")
        self.assertEqual(self.text_of("scontrol.log"), "")

    def test_a_share_that_ends_when_it_is_asked_to_stop_stays_ended(self):
        task = self.start(0)
        task.send_signal(signal.SIGUSR1)
        self.assertEqual(task.wait(60), 0)
        self.assertEqual(self.text_of("scontrol.log"), "")


class CondorFiles(support.FileTest):
    def test_the_description_asks_for_what_the_job_says(self):
        self.assertEqual(files_of("htcondor", some_job(htcondor=["requirements = (OpSysMajorVer == 9)"]))["job.sub"], """\
# Written by quench submit: shares 1-3,5 of 8 of a run, one job each.
universe = vanilla
executable = /home/me/runs/decay/cluster/0001/task.sh
arguments = $(share)
initialdir = /home/me
transfer_executable = false
should_transfer_files = NO
output = /home/me/runs/decay/cluster/0001/share-$(share).log
error = /home/me/runs/decay/cluster/0001/share-$(share).err
log = /home/me/runs/decay/cluster/0001/htcondor.log
job_batch_name = quench-decay
notification = never
request_cpus = 16
request_memory = 3072MB
request_disk = 19531250KB
request_gpus = 2
require_gpus = regexp("a100", DeviceName, "i")
accounting_group = lab
max_materialize = 2
kill_sig = SIGTERM
job_max_vacate_time = 300
allowed_execute_duration = 184200
+MaxRuntime = 184200
periodic_release = (HoldReasonCode =?= 47) && (NumHolds <= 7)
max_retries = 7
retry_until = (ExitBySignal =?= False) && (ExitCode =!= 75)
on_exit_hold = (ExitBySignal =?= False) && (ExitCode =?= 2)
on_exit_hold_reason = "quench: the manifest or the command line is wrong"
requirements = (OpSysMajorVer == 9)
queue share in (1, 2, 3, 5)
""")

    def test_an_estimated_time_is_no_limit_and_without_requeue_nothing_is_retried(self):
        text = files_of("htcondor", some_job(time=None, requeue=False, at_once=None, disk=None, gpus=None, gpu_type=None,
                                             account=None))["job.sub"]
        for absent in ("allowed_execute_duration", "MaxRuntime", "periodic_release", "max_retries", "retry_until", "request_disk",
                       "request_gpus", "require_gpus", "accounting_group", "max_materialize"):
            self.assertNotIn(absent, text)

    def test_a_job_runs_the_share_of_its_argument(self):
        job = some_job(program="/bin/echo", before=["echo before: $QUENCH_HOME"])
        task = self.write(files_of("htcondor", job)["task.sh"], "task.sh")
        ended = subprocess.run(["/bin/bash", task, "3"], capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, "before: /scratch/quench\nrun /home/me/m.yaml --out /home/me/runs/decay --set a=it's b "
                         "--share 3/8 --threads 16\n")


class Pasted(support.FileTest):
    def test_the_lines_for_any_engine_run_the_share_that_it_numbers(self):
        job = some_job(program="/bin/echo", here=self.folder, before=["echo at $PWD"])
        task = self.write(files_of("generic", job)["task.sh"], "task.sh")
        ended = subprocess.run(["/bin/bash", task], capture_output=True, text=True, check=True, cwd="/")
        self.assertEqual(ended.stdout, "at /\nrun /home/me/m.yaml --out /home/me/runs/decay --set a=it's b --share auto/8 "
                         "--threads 16\n")

    def test_kubernetes_gets_an_indexed_job(self):
        try:
            import yaml  # noqa: PLC0415
        except ModuleNotFoundError:
            self.skipTest("no module yaml")
        job = some_job(program="/bin/echo")
        read = yaml.safe_load(files_of("kubernetes", job)["job.yaml"])
        self.assertEqual((read["kind"], read["metadata"]["name"]), ("Job", "quench-decay"))
        spec = read["spec"]
        self.assertEqual([spec[key] for key in ("completionMode", "completions", "parallelism", "backoffLimitPerIndex")],
                         ["Indexed", 8, 2, 7])
        pod = spec["template"]["spec"]
        self.assertEqual((pod["restartPolicy"], pod["terminationGracePeriodSeconds"]), ("Never", 300))
        container, = pod["containers"]
        self.assertEqual(container["resources"], {
            "requests": {"cpu": 16, "memory": "3072Mi", "ephemeral-storage": "19074Mi"},
            "limits": {"memory": "3072Mi", "nvidia.com/gpu": 2}})
        self.assertEqual([volume["name"] for volume in pod["volumes"]], [mount["name"] for mount in container["volumeMounts"]])
        self.assertEqual(spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"], container["name"])
        ended = subprocess.run([*container["command"][:2], "module() { :; }\n" + container["command"][2]], capture_output=True,
                               text=True, check=True)
        self.assertEqual(ended.stdout, "run /home/me/m.yaml --out /home/me/runs/decay --set a=it's b --share auto/8 --threads 16\n")
        alone = yaml.safe_load(files_of("kubernetes", some_job(at_once=None, gpus=None, disk=None, requeue=False))["job.yaml"])
        self.assertEqual((alone["spec"]["parallelism"], alone["spec"]["backoffLimitPerIndex"]), (8, 0))
        self.assertNotIn("nvidia", json.dumps(alone))

    def test_every_script_is_one_for_bash(self):
        for engine, file in ("slurm", "job.sbatch"), ("htcondor", "task.sh"), ("generic", "task.sh"):
            for job in some_job(), some_job(requeue=False, before=[]):
                path = self.write(files_of(engine, job)[file], file)
                subprocess.run(["/bin/bash", "-n", path], check=True)

    def test_a_template_of_the_users_own_takes_the_place_of_the_script(self):
        mine = self.write("#!/bin/bash\n#SBATCH --array={{array}} --partition={{partition}}\n{{quench}}\n", "my.sbatch")
        files = files_of("slurm", some_job(), mine)
        self.assertEqual(files["job.sbatch"], "#!/bin/bash\n#SBATCH --array=1-3,5%2 --partition=gpu\n/opt/quench/bin/quench run "
                         "/home/me/m.yaml --out /home/me/runs/decay --set 'a=it'\\''s b'\n")
        description = files_of("htcondor", some_job(), self.write("x\n", "my.sub"))
        self.assertEqual((description["job.sub"], list(description)), ("x\n", ["job.sub", "task.sh"]))


class Refusals(support.FileTest):
    def refusal(self, said):
        tool = Path(self.folder, "sbatch")
        tool.write_text("#!/bin/sh\necho '%s' >&2\nexit 1\n" % said)
        tool.chmod(0o755)
        engine = copy.copy(ENGINES["slurm"])
        engine.submits = [str(tool)]
        with self.assertRaises(Error) as caught:
            engine.hand_over(Path(self.folder, "job.sbatch"))
        return caught.exception

    def test_more_tasks_than_the_cluster_takes_are_the_users_to_change(self):
        for said in ("sbatch: error: Batch job submission failed: Invalid job array specification",
                     "sbatch: error: QOSMaxSubmitJobPerUserLimit"):
            failure = self.refusal(said)
            self.assertIsInstance(failure, Wrong)
            self.assertTrue(str(failure).endswith("the cluster allows fewer tasks of one job: submit with fewer --shares"), failure)

    def test_a_partition_that_is_not_there_is_said_with_the_key_and_those_that_are(self):
        said = "sbatch: error: invalid partition specified: gpu"
        with mock.patch.dict(os.environ, {"PATH": self.folder}):
            self.assertTrue(str(self.refusal(said)).endswith(
                "/sbatch: invalid partition specified: gpu; wanted `cluster.partition`"))
            tool = Path(self.folder, "sinfo")
            tool.write_text("#!/bin/sh\necho long\necho debug\necho long\n")
            tool.chmod(0o755)
            self.assertTrue(str(self.refusal(said)).endswith("; wanted `cluster.partition`, one of debug, long"))

    def test_other_refusals_are_said_with_what_to_change(self):
        for said, key in (("Batch job submission failed: Invalid account or account/partition combination specified", "account"),
                          ("Batch job submission failed: Invalid qos specification", "qos"),
                          ("Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)", "time"),
                          ("Memory specification can not be satisfied", "memory"),
                          ("Batch job submission failed: Requested node configuration is not available", "cpus")):
            self.assertRegex(str(self.refusal("sbatch: error: " + said)), "; wanted [a-z ]+ `cluster.%s`.* in the manifest$" % key)

        several = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)".replace("'", "")
        self.assertNotIn("cluster.", str(self.refusal("sbatch: error: Batch job submission failed: " + several)))

    def test_what_may_pass_is_not(self):
        failure = self.refusal("sbatch: error: Unable to contact slurm controller")
        self.assertNotIsInstance(failure, Wrong)
        self.assertTrue(str(failure).endswith("controller; look into the queue whether it has taken the job; --dry-run prints what was sent"), failure)


class Submissions(support.FileTest):
    def sent(self, number, **changes):
        folder = Path(self.folder, "cluster", number)
        folder.mkdir(parents=True)
        out = Submission(folder, ENGINES["htcondor"], "812", [2, 3, 9], 9, "2026-11-23T17:20:05Z", "login1")._replace(**changes)
        record_submission(out)
        return out

    def test_what_is_recorded_is_read_again_in_order(self):
        self.assertEqual(read_submissions(self.folder), [])
        self.assertEqual(next_submission(self.folder), Path(self.folder, "cluster/0001"))
        ten, two = self.sent("0010"), self.sent("0002")
        self.assertEqual(read_submissions(self.folder), [two, ten])
        self.assertEqual(next_submission(self.folder), Path(self.folder, "cluster/0011"))
        self.assertEqual(unfinished_submissions(self.folder), [])
        Path(self.folder, "cluster/0012").mkdir()
        self.assertEqual(unfinished_submissions(self.folder), [Path(self.folder, "cluster/0012")])

    def test_its_bytes_are_those_that_the_program_wrote(self):
        self.sent("0001")
        self.assertEqual(Path(self.folder, "cluster/0001/submission.json").read_text(),
                         '{"submission":{"host":"login1","job":"812","of":9,"scheduler":"htcondor","schema":1,"shares":[2,3,9],'
                         '"time":"2026-11-23T17:20:05Z"},"sha256":'
                         '"5d42bbfc12f733d6d9ea3685ce5497ce91760f70f761b3ed42d62637b8cec2f9"}\n')

    def test_what_does_not_verify_is_named(self):
        path = self.sent("0001").folder / "submission.json"
        path.write_text(path.read_text().replace("login1", "login2"))
        self.refused(DATA_LOSS, "%s: the checksum does not match" % path)
        path.write_text(path.read_text()[:-9])
        self.refused(DATA_LOSS, "%s: it is cut short: no checksum at its end" % path)
        path.write_text("hello\n")
        self.refused(DATA_LOSS, "%s: it does not begin as a sealed line" % path)

    def test_a_job_that_is_no_number_is_refused_because_users_type_it_in_commands(self):
        path = self.sent("0001", job="12; rm -r x").folder / "submission.json"
        self.refused(DATA_LOSS, "%s: job = '12; rm -r x', wanted a number" % path)

    def refused(self, status, message):
        with self.assertRaises(Error) as raised:
            read_submissions(self.folder)
        self.assertEqual((raised.exception.status, str(raised.exception)), (status, message))


class TaskStates(unittest.TestCase):
    def test_squeues_lines_become_tasks_of_this_job_alone(self):
        tasks = parse_squeue("12|1|RUNNING|None\n12|2|PENDING|Resources\n12|3|COMPLETED|None\n12|5|NODE_FAIL|None\n"
                             "12|6|REQUEUE_HOLD|job requeued in held state\n112|4|RUNNING|None\n12|N/A|RUNNING|None\nnonsense\n", "12")
        self.assertEqual({index: tuple(task) for index, task in tasks.items()}, {
            1: ("running", "", True), 2: ("pending", "Resources", True), 3: ("completed", "", False),
            5: ("node fail", "", False), 6: ("requeue hold", "job requeued in held state", True)})

    def test_an_unknown_state_counts_as_active(self):
        self.assertTrue(parse_squeue("12|1|SOMETHING_NEW|None\n", "12")[1].active)

    def test_saccts_ranges_are_tasks(self):
        tasks = parse_sacct("12_1|COMPLETED\n12_2|CANCELLED by 1000\n12_[3,5-7%2]|PENDING\n12_[x-y]|PENDING\n12_[1-9999999]|PENDING\n"
                            "13_1|FAILED\n12_8|OUT_OF_MEMORY\n", "12")
        self.assertEqual({index: (task.state, task.active) for index, task in tasks.items()}, {
            1: ("completed", False), 2: ("cancelled", False), 3: ("pending", True), 5: ("pending", True), 6: ("pending", True),
            7: ("pending", True), 8: ("out of memory", False)})

    def test_htcondors_numbers_have_their_names(self):
        tasks = parse_condor("0, 1, undefined, undefined\n1, 2, undefined, undefined\n2, 3, undefined, undefined\n"
                             "3, 4, 0, undefined\n4, 4, 1, undefined\n5, 5, undefined, Job failed, with a comma\n"
                             "6, 9, undefined, undefined\n\nAll queues are empty\n")
        self.assertEqual({process: tuple(task) for process, task in tasks.items()}, {
            0: ("idle", "", True), 1: ("running", "", True), 2: ("removed", "", False), 3: ("completed", "", False),
            4: ("failed", "exit code 1", False), 5: ("held", "Job failed, with a comma", True), 6: ("status 9", "", True)})


if __name__ == "__main__":
    unittest.main()
