#include "run/cluster/condor_files.hpp"

#include <catch2/catch.hpp>

#include "tests/run/cluster/some_job.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

using quench::ClusterJob;
using quench::condor_description;
using quench::condor_task;
using quench::test::some_job;

TEST_CASE("condor files: the description asks for what the job says", "[run][cluster]") {
  ClusterJob job = some_job();
  job.lines = {"requirements = (OpSysMajorVer == 9)"};
  const std::string expected =
      "# Written by quench submit: shares 1-3,5 of 8 of a run, one job each.\n"
      "universe = vanilla\n"
      "executable = /home/me/runs/decay/cluster/0001/task.sh\n"
      "arguments = $(share)\n"
      "initialdir = /home/me\n"
      "transfer_executable = false\n"
      "should_transfer_files = NO\n"
      "output = /home/me/runs/decay/cluster/0001/share-$(share).log\n"
      "error = /home/me/runs/decay/cluster/0001/share-$(share).err\n"
      "log = /home/me/runs/decay/cluster/0001/htcondor.log\n"
      "job_batch_name = quench-decay\n"
      "notification = never\n"
      "request_cpus = 16\n"
      "request_memory = 3072MB\n"
      "request_disk = 19531250KB\n"
      "request_gpus = 2\n"
      "require_gpus = regexp(\"a100\", DeviceName, \"i\")\n"
      "accounting_group = lab\n"
      "max_materialize = 2\n"
      "kill_sig = SIGTERM\n"
      "job_max_vacate_time = 300\n"
      "allowed_execute_duration = 184200\n"
      "+MaxRuntime = 184200\n"
      "periodic_release = (HoldReasonCode =?= 47) && (NumHolds <= 7)\n"
      "max_retries = 7\n"
      "retry_until = (ExitBySignal =?= False) && (ExitCode =!= 75)\n"
      "on_exit_hold = (ExitBySignal =?= False) && (ExitCode =?= 2)\n"
      "on_exit_hold_reason = \"quench: the manifest or the command line is wrong\"\n"
      "requirements = (OpSysMajorVer == 9)\n"
      "queue share in (1, 2, 3, 5)\n";
  CHECK(quench::test::differences(condor_description(job), expected) == "");
}

TEST_CASE("condor files: an estimated time is no limit, and without requeue nothing is retried",
          "[run][cluster]") {
  ClusterJob job = some_job();
  job.seconds_chosen = false;
  job.requeue = false;
  job.at_once = job.disk_bytes = job.gpus = 0;
  job.account = "";
  const std::string text = condor_description(job);
  for (const char* absent :
       {"allowed_execute_duration", "MaxRuntime", "periodic_release", "max_retries", "retry_until",
        "request_disk", "request_gpus", "require_gpus", "accounting_group", "max_materialize"}) {
    CHECK_THAT(text, !Catch::Contains(absent));
  }
}

TEST_CASE("condor files: a job runs the share of its argument", "[run][cluster]") {
  const quench::test::TemporaryDir folder;
  ClusterJob job = some_job();
  job.program = "/bin/echo";
  job.before = {"echo before: $QUENCH_HOME"};
  folder.write("task.sh", condor_task(job));
  const auto ended = quench::test::run_program({"/bin/bash", (folder / "task.sh").string(), "3"},
                                               {}, folder.path());
  CHECK(ended.code == 0);
  CHECK(ended.out ==
        "before: /scratch/quench\n"
        "run /home/me/m.yaml --out /home/me/runs/decay --set a=it's b --share 3/8 --threads 16\n");
}
