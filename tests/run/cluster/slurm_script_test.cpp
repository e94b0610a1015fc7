#include "run/cluster/slurm_script.hpp"

#include <csignal>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/run/cluster/some_job.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::ClusterJob;
using quench::slurm_script;
using quench::test::read_file;
using quench::test::some_job;
using quench::test::TemporaryDir;

namespace {

// A task of a script in a shell of its own. Stand-ins write down what they are asked for: `quench`
// its words, environment and signals, `scontrol` its words.
class Task {
 public:
  explicit Task(ClusterJob job, int code_when_stopped) {
    std::string program = "#!/bin/bash\n";
    program += "echo \"$QUENCH_HOME $*\" > " + in("words") + "\n";
    program += "stop() { echo $1 >> " + in("signals") + "; exit $2; }\n";
    program += "trap 'stop USR1 " + std::to_string(code_when_stopped) + "' USR1\n";
    program += "trap 'stop TERM " + std::to_string(code_when_stopped) + "' TERM\n";
    program += "touch " + in("ready") + "\n";
    program += "for i in {1..600}; do [ ! -e " + in("end") + " ] || exit 0; sleep 0.05; done\n";
    write_program("quench", program);
    write_program("scontrol", "#!/bin/sh\necho \"$@\" >> " + in("scontrol.log") + "\n");
    job.program = in("quench");
    job.before = {};
    folder_.write("job.sbatch", slurm_script(job));
  }

  quench::ChildProcess start(const std::string& restarts = "0") const {
    quench::test::Environment environment = {{"PATH", folder_.path().string() + ":/usr/bin:/bin"},
                                             {"SLURM_ARRAY_TASK_ID", "5"},
                                             {"SLURM_ARRAY_JOB_ID", "77"},
                                             {"SLURM_JOB_ID", "77"},
                                             {"SLURM_RESTART_COUNT", restarts}};
    quench::ChildProcess out =
        quench::test::start_silently({"/bin/bash", in("job.sbatch")}, environment, folder_.path());
    for (int i = 0; i < 400 && !fs::exists(folder_ / "ready"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return out;
  }

  std::string in(const std::string& name) const { return (folder_ / name).string(); }
  std::string text_of(const std::string& name) const {
    return fs::exists(folder_ / name) ? read_file(folder_ / name) : "";
  }

 private:
  void write_program(const std::string& name, const std::string& text) const {
    folder_.write(name, text);
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

  TemporaryDir folder_;
};

}  // namespace

TEST_CASE("slurm script: its directives ask for what the job says", "[run][cluster]") {
  ClusterJob job = some_job();
  job.lines = {"--constraint=avx512"};
  const std::string script = slurm_script(job);
  const std::string expected =
      "#!/bin/bash\n"
      "# Written by quench submit: shares 1-3,5 of 8 of a run, one task each.\n"
      "#SBATCH --job-name=quench-decay\n"
      "#SBATCH --array=1-3,5%2\n"
      "#SBATCH --chdir=/home/me\n"
      "#SBATCH --output=/home/me/runs/decay/cluster/0001/share-%a.log\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --export=ALL\n"
      "#SBATCH --nodes=1\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task=16\n"
      "#SBATCH --mem=3072M\n"
      "#SBATCH --time=2-03:10:00\n"
      "#SBATCH --tmp=19074M\n"
      "#SBATCH --gres=gpu:a100:2\n"
      "#SBATCH --partition=gpu\n"
      "#SBATCH --account=lab\n"
      "#SBATCH --qos=long\n"
      "#SBATCH --signal=B:USR1@300\n"
      "#SBATCH --requeue\n"
      "#SBATCH --constraint=avx512\n"
      "\n"
      "export QUENCH_HOME=/scratch/quench\n"
      "export QUENCH_ISA=avx2\n"
      "module load python\n"
      "\n"
      "/opt/quench/bin/quench run /home/me/m.yaml --out /home/me/runs/decay --set 'a=it'\\''s b' "
      "--share \"$SLURM_ARRAY_TASK_ID/8\" --threads 16 &\n";
  CHECK(quench::test::differences(script.substr(0, expected.size()), expected) == "");
  CHECK_THAT(script, Catch::EndsWith("exit \"$code\"\n"));
  CHECK(quench::test::run_program({"/bin/bash", "-n", "-c", script}, {}, "/").code == 0);
}

TEST_CASE("slurm script: what is not asked for has no directive", "[run][cluster]") {
  ClusterJob job = some_job();
  job.at_once = job.disk_bytes = job.gpus = 0;
  job.partition = job.account = job.qos = "";
  job.requeue = false;
  job.seconds = 60;
  const std::string script = slurm_script(job);
  CHECK_THAT(script, Catch::Contains("--array=1-3,5\n"));
  for (const char* absent : {"--tmp", "--gres", "--partition", "--account", "--qos", "scontrol"}) {
    CHECK_THAT(script, !Catch::Contains(absent));
  }
  CHECK_THAT(script, Catch::Contains("--no-requeue\n"));
  // The request to stop comes after the first half of a time limit that is shorter than the grace.
  CHECK_THAT(script, Catch::Contains("--signal=B:USR1@30\n"));
}

TEST_CASE("slurm script: folders with spaces and percent signs stay whole", "[run][cluster]") {
  ClusterJob job = some_job();
  job.working_folder = "/home/my work";
  job.folder = "/home/my work/runs/50%/cluster/0001";
  const std::string script = slurm_script(job);
  CHECK_THAT(script, Catch::Contains("--chdir=\"/home/my work\"\n"));
  CHECK_THAT(script,
             Catch::Contains("--output=\"/home/my work/runs/50%%/cluster/0001/share-%a.log\"\n"));
}

TEST_CASE("slurm script: a task runs its share with the pinned environment", "[run][cluster]") {
  const Task task(some_job(), 75);
  quench::ChildProcess process = task.start();
  std::ofstream(task.in("end")) << "";
  CHECK(process.wait().code() == 0);
  CHECK(task.text_of("words") ==
        "/scratch/quench run /home/me/m.yaml --out /home/me/runs/decay --set a=it's b --share 5/8 "
        "--threads 16\n");
  CHECK(task.text_of("scontrol.log") == "");
}

TEST_CASE("slurm script: stopped at its time limit, a task goes back into the queue",
          "[run][cluster]") {
  const Task task(some_job(), 75);
  SECTION("as often as `retries` says") {
    quench::ChildProcess process = task.start("6");
    process.signal(SIGUSR1);
    CHECK(process.wait().code() == 75);
    CHECK(task.text_of("signals") == "USR1\n");
    CHECK(task.text_of("scontrol.log") == "requeue 77_5\n");
  }
  SECTION("and not more often") {
    quench::ChildProcess process = task.start("7");
    process.signal(SIGUSR1);
    CHECK(process.wait().code() == 75);
    CHECK(task.text_of("scontrol.log") == "");
  }
}

TEST_CASE("slurm script: cancelled or preempted, a task stops in order and asks for nothing",
          "[run][cluster]") {
  const Task task(some_job(), 75);
  quench::ChildProcess process = task.start();
  process.signal(SIGTERM);
  CHECK(process.wait().code() == 75);
  CHECK(task.text_of("signals") == "TERM\n");
  CHECK(task.text_of("scontrol.log") == "");
}

TEST_CASE("slurm script: a share that ends when it is asked to stop stays ended",
          "[run][cluster]") {
  const Task task(some_job(), 0);
  quench::ChildProcess process = task.start();
  process.signal(SIGUSR1);
  CHECK(process.wait().code() == 0);
  CHECK(task.text_of("scontrol.log") == "");
}
