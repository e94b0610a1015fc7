// quench submit and status with stand-ins for the commands of Slurm and HTCondor.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/store/record_schema.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::read_file;
using quench::test::Workplace;

namespace {

constexpr size_t kCells = 9;  // 3 checkpoints × (float + 2 quantizers)

const std::string kManifest =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: [3, 4]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n"
    "cluster: {cpus: 1}\n";

// A workplace with three checkpoints, and a cluster that takes every job as number 41 and does
// nothing with it. Its queue is the file `queue`.
class Login {
 public:
  Login() {
    fs::create_directory(here.folder() / "models");
    for (const char* step : {"models/step1", "models/step2", "models/step3"}) {
      fs::copy(here.folder() / "tiny", here.folder() / step, fs::copy_options::recursive);
    }
    here.folder().write("m.yaml", kManifest);
    here.folder().write("queue", "");
    tool("sbatch", "cp \"$2\" '" + path("sent") + "'; echo '41;cluster'");
    tool("squeue", "cat '" + path("queue") + "'");
    tool("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    tool("condor_submit", "cp \"$2\" '" + path("sent") + "'; echo '41.0 - 41.2'");
    tool("condor_q", "cat '" + path("queue") + "'");
    tool("condor_history", "true");
  }

  std::string path(const std::string& name) const { return (here.folder() / name).string(); }

  void tool(const std::string& name, const std::string& script) const {
    here.folder().write("bin/" + name, "#!/bin/bash\n" + script + "\n");
    fs::permissions(here.folder() / ("bin/" + name), fs::perms::owner_all);
  }
  void remove_tool(const std::string& name) const { fs::remove(here.folder() / ("bin/" + name)); }
  void queue(const std::string& lines) const { here.folder().write("queue", lines); }

  // The program where nothing but the stand-ins, bash and cat is on PATH.
  Outcome run(const Workplace::Arguments& arguments) const {
    quench::Command command = here.command(arguments);
    std::erase_if(*command.environment,
                  [](const std::string& each) { return each.starts_with("PATH="); });
    for (const char* name : {"bash", "cat", "cp"}) {
      if (!fs::exists(here.folder() / "bin" / name)) {
        fs::create_symlink(fs::path("/bin") / name, here.folder() / "bin" / name);
      }
    }
    command.environment->push_back("PATH=" + path("bin"));
    command.environment->push_back("HF_TOKEN=hf_secret");
    command.environment->push_back("HF_HOME=" + path("hf"));
    quench::ChildProcess process = quench::ChildProcess::start(command);
    return here.wait(process);
  }

  std::string run_well(const Workplace::Arguments& arguments) const {
    const Outcome got = run(arguments);
    INFO(got.err);
    REQUIRE(got.code == 0);
    return got.out;
  }

  const Workplace here;
};

const Workplace::Arguments kSubmit = {"submit", "m.yaml", "--to", "slurm", "--shares", "3"};

Workplace::Arguments with(Workplace::Arguments arguments, const std::string& more) {
  arguments.push_back(more);
  return arguments;
}

// The records of a run, without what differs between two computations of the same value.
json compared(const std::string& printed) {
  json records = quench::test::data_of(printed).at("records");
  quench::strip_not_compared(records);
  for (json& record : records) {
    record.erase("cached");
  }
  return records;
}

}  // namespace

TEST_CASE("submit: --dry-run prints the script and leaves nothing behind", "[cli][cluster]") {
  const Login login;
  login.remove_tool("sbatch");
  const std::string out = login.run_well(with(kSubmit, "--dry-run"));
  CHECK_THAT(out, Contains("==> " + login.path("runs/m/cluster/0001/job.sbatch") + " <==\n"));
  CHECK_THAT(out, Contains("#SBATCH --array=1-3\n"));
  CHECK_THAT(out, Contains("#SBATCH --cpus-per-task=1\n"));
  CHECK_THAT(out, Contains("#SBATCH --mem=1024M\n"));  // the least: the model has 30,000 weights
  CHECK_THAT(out, Contains("#SBATCH --time=00:30:00\n"));  // likewise
  CHECK_THAT(out, Contains("#SBATCH --signal=B:USR1@300\n"));
  CHECK_THAT(out, Contains("export QUENCH_HOME=" + login.path("home") + "\n"));
  CHECK_THAT(out, Contains("export QUENCH_PYTHON=/usr/bin/python3\n"));  // as found here
  CHECK_THAT(out, Contains("export HF_HOME=" + login.path("hf") + "\n"));
  CHECK_THAT(out, Contains("export HF_HUB_CACHE=" + login.path("hf/hub") + "\n"));
  CHECK_THAT(out, Contains("export QUENCH_PLUGIN_PATH="));
  CHECK_THAT(out, Contains("\n" + fs::canonical(quench::test::program_path()).string() + " run " +
                           login.path("m.yaml") + " --out " + login.path("runs/m") +
                           " --share \"$SLURM_ARRAY_TASK_ID/3\" --threads 1 &\n"));
  CHECK_THAT(out, !Contains("hf_secret"));
  CHECK_FALSE(fs::exists(login.here.folder() / "runs"));
}

TEST_CASE("submit: the manifest's `cluster` comes before estimates", "[cli][cluster]") {
  const Login login;
  const std::string out = login.run_well(
      {"submit", "m.yaml", "--dry-run", "--set",
       "cluster={to: slurm, shares: 2, at_once: 1, time: 4h, memory: 3GiB, cpus: 7, gpus: 1, "
       "partition: p, grace: 2m, slurm: [--nice=5], before: [module load x]}"});
  for (const char* line :
       {"#SBATCH --array=1-2%1\n", "#SBATCH --time=04:00:00\n", "#SBATCH --mem=3072M\n",
        "#SBATCH --cpus-per-task=7\n", "#SBATCH --gres=gpu:1\n", "#SBATCH --partition=p\n",
        "#SBATCH --signal=B:USR1@120\n", "#SBATCH --nice=5\n", "\nmodule load x\n",
        "--threads 7 &\n"}) {
    CHECK_THAT(out, Contains(line));
  }
}

TEST_CASE("submit: options of the run reach the tasks", "[cli][cluster]") {
  const Login login;
  const std::string out = login.run_well({"submit",
                                          "m.yaml",
                                          "--to",
                                          "slurm",
                                          "--dry-run",
                                          "--out",
                                          "other place",
                                          "--set",
                                          "seed=3",
                                          "--retry",
                                          "failed",
                                          "--plugin-path",
                                          "mine",
                                          "--in-process",
                                          "template_metric",
                                          "--worker-silence",
                                          "60",
                                          "--worker-time",
                                          "7200",
                                          "--strict",
                                          "--fetch",
                                          "--storage-limit",
                                          "5GB",
                                          "--evict",
                                          "done"});
  CHECK_THAT(
      out,
      Contains(" run " + login.path("m.yaml") + " --out '" + login.path("other place") +
               "' --set seed=3 --fetch --storage-limit 5GB --evict done --retry failed "
               "--strict --plugin-path " +
               login.path("mine") +
               " --in-process template_metric --worker-silence 60 --worker-time 7200 --share "));
}

TEST_CASE("submit: what is queued is not sent again, and status shows it", "[cli][cluster]") {
  const Login login;
  CHECK_THAT(login.run_well(kSubmit), Contains("slurm job 41: shares 1-3 of 3, each with 1 CPUs"));
  CHECK(read_file(login.here.folder() / "sent") ==
        read_file(login.here.folder() / "runs/m/cluster/0001/job.sbatch"));

  login.queue("41|1|RUNNING|None\n41|2|PENDING|Resources\n41|3|PENDING|Resources\n");
  const std::string again = login.run_well(kSubmit);
  CHECK_THAT(again, Contains("already queued: share 1 (running, slurm job 41), 2 (pending: "
                             "Resources, slurm job 41), 3"));
  CHECK_THAT(again, Contains("nothing to submit\n"));

  const std::string status = login.run_well({"status", "m"});
  CHECK_THAT(status, Contains("slurm job 41 of 2"));
  CHECK_THAT(status, Contains("shares of 3: pending (Resources) 2-3; running 1\n"));
  CHECK_THAT(status, Contains("records  0 done"));
  const json shown =
      quench::test::data_of(login.run_well({"status", "m", "--json"})).at("cluster").at(0);
  CHECK(shown.at("job") == "41");
  CHECK(shown.at("tasks").at(1) ==
        json{{"share", 2}, {"state", "pending"}, {"reason", "Resources"}});

  // Another number of shares would divide the work otherwise.
  const Outcome other = login.run({"submit", "m.yaml", "--to", "slurm", "--shares", "2"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("slurm job 41 has share 1 of 3 running; wanted 2 shares") &&
                            Contains("`scancel 41`") && Contains("--shares 3"));
}

TEST_CASE("submit: only shares with open cells are sent again", "[cli][cluster]") {
  const Login login;
  login.run_well(kSubmit);
  login.run_well({"run", "m.yaml", "--share", "2/3"});
  const std::string second = login.run_well(kSubmit);
  CHECK_THAT(second, Contains("m: 6 of 9 cells are open, in 2 of 3 shares\n"));
  CHECK_THAT(second, Contains("slurm job 41: shares 1,3 of 3"));
  CHECK_THAT(read_file(login.here.folder() / "sent"), Contains("#SBATCH --array=1,3\n"));
  CHECK(fs::exists(login.here.folder() / "runs/m/cluster/0002/submission.json"));

  login.run_well({"run", "m.yaml"});
  fs::remove(login.here.folder() / "sent");
  const std::string third = login.run_well(kSubmit);
  CHECK_THAT(third, Contains("m: 0 of 9 cells are open") && Contains("nothing to submit\n"));
  CHECK_FALSE(fs::exists(login.here.folder() / "sent"));
  CHECK_FALSE(fs::exists(login.here.folder() / "runs/m/cluster/0003"));
}

TEST_CASE("submit: a share is open while a folder of weights is owed", "[cli][cluster]") {
  const Login login;
  login.here.folder().write("m.yaml",
                            "name: m\n"
                            "checkpoints: {model: models, revisions: \"step{step}\"}\n"
                            "averaging:\n"
                            "  - soup: {}\n"
                            "    keep: true\n"
                            "quantizers:\n"
                            "  - template_quantizer: {bits: 4, group_size: 16}\n"
                            "    label: q\n"
                            "    export: gptq\n"
                            "metrics:\n"
                            "  - validation_loss: {corpus: v, block: 16}\n"
                            "corpora: {v: {text: {path: t.txt}}}\n"
                            "cluster: {cpus: 1}\n");
  const auto folders = [&] {
    return quench::test::data_of(login.run_well({"status", "m", "--json"})).at("folders");
  };
  login.run_well({"run", "m.yaml"});
  CHECK(folders() == json{{"written", 4}, {"owed", 0}});
  CHECK_THAT(login.run_well({"status", "m"}), Contains("folders  4 written, 0 owed\n"));
  CHECK_THAT(login.run_well(kSubmit), Contains("nothing to submit\n"));

  // Every value is known, the weights are not there.
  const std::string lost = GENERATE("exports/step2/q", "averages/soup+at+step3");
  CAPTURE(lost);
  REQUIRE(fs::remove_all(login.here.folder() / "runs/m" / lost) > 0);
  CHECK(folders() == json{{"written", 3}, {"owed", 1}});
  const std::string sent = login.run_well(kSubmit);
  CHECK_THAT(sent, Contains("m: 0 of 8 cells are open and 1 folder of weights owed, in 1 of 3 "
                            "shares\n") &&
                       Contains("slurm job 41: share ") && !Contains("shares 1"));
  const std::string script = read_file(login.here.folder() / "sent");
  const size_t array = script.find("--array=") + 8;
  const auto task = quench::test::run_program({"/bin/bash", login.path("sent")},
                                              {{"SLURM_ARRAY_TASK_ID", script.substr(array, 1)}},
                                              login.here.folder().path());
  CAPTURE(task.err);
  CHECK(task.code == 0);
  CHECK(folders() == json{{"written", 4}, {"owed", 0}});
  CHECK_THAT(login.run_well(kSubmit), Contains("nothing to submit\n"));
}

TEST_CASE("submit: the tasks together are the run", "[cli][cluster]") {
  const Login login;
  login.run_well(kSubmit);
  for (const char* task : {"1", "2", "3"}) {
    const auto ended = quench::test::run_program(
        {"/bin/bash", login.path("sent")}, {{"SLURM_ARRAY_TASK_ID", task}, {"SLURM_JOB_ID", "41"}},
        login.here.folder().path());
    INFO(ended.err);
    CHECK(ended.code == 0);
  }
  CHECK_THAT(login.run_well({"status", "m"}), Contains("records  9 done, 0 failed"));
  const std::string tasks = login.run_well({"results", "m", "--json"});
  login.run_well({"run", "m.yaml", "--out", "runs/local", "--fresh"});
  const std::string local = login.run_well({"results", "runs/local", "--json"});
  CHECK(compared(tasks).size() >= kCells);
  CHECK(compared(tasks) == compared(local));
}

TEST_CASE("submit: a manifest that changes under a job loses nothing and mixes nothing",
          "[cli][cluster]") {
  const Login login;
  login.run_well(kSubmit);
  const auto run_task = [&](const char* task) {
    const auto ended = quench::test::run_program(
        {"/bin/bash", login.path("sent")}, {{"SLURM_ARRAY_TASK_ID", task}, {"SLURM_JOB_ID", "41"}},
        login.here.folder().path());
    INFO(ended.err);
    CHECK(ended.code == 0);
  };
  run_task("1");
  std::string changed = kManifest;
  const std::string old = "bits: [3, 4]";
  login.here.folder().write("m.yaml",
                            changed.replace(changed.find(old), old.size(), "bits: [2, 3]"));
  run_task("2");
  run_task("3");
  // What is open now is what the first task measured for the manifest of before.
  CHECK_THAT(login.run_well(with(kSubmit, "--dry-run")), Contains("--array=1\n"));
  login.run_well(kSubmit);
  run_task("1");
  CHECK_THAT(login.run_well(kSubmit), Contains("nothing to submit\n"));
  login.run_well({"run", "m.yaml", "--out", "runs/local", "--fresh"});
  const json local = compared(login.run_well({"results", "runs/local", "--json"}));
  CHECK(local.size() >= kCells);
  CHECK(compared(login.run_well({"run", "m.yaml", "--json"})) ==
        compared(login.run_well({"run", "m.yaml", "--out", "runs/local", "--json"})));
}

TEST_CASE("submit: what cannot be asked is not sent twice", "[cli][cluster]") {
  const Login login;
  login.run_well(kSubmit);
  SECTION("without squeue") {
    login.remove_tool("squeue");
    const Outcome got = login.run(kSubmit);
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Contains("cannot ask whether slurm job 41 of ") &&
                            Contains("has ended: no squeue on PATH; if it has, remove runs/m/"));
    CHECK_THAT(login.run_well({"status", "m"}),
               Contains("shares of 3: unknown 1-3 (no squeue on PATH)\n"));
    CHECK_THAT(login.run_well(with(kSubmit, "--dry-run")), Contains("--array=1-3\n"));
  }
  SECTION("with a controller that does not answer") {
    login.tool("squeue",
               "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; "
               "exit 1");
    const Outcome got = login.run(kSubmit);
    CHECK(got.code == 1);  // nothing that the user must change
    CHECK_THAT(got.err, Contains("has ended: squeue: slurm_load_jobs error: Unable"));
  }
  SECTION("but a job that the queue has forgotten has ended") {
    login.tool("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    CHECK_THAT(login.run_well(kSubmit), Contains("slurm job 41: shares 1-3 of 3"));
    CHECK_THAT(login.run_well({"status", "m"}),
               Contains("unknown 1-3 (sacct: Slurm accounting storage is disabled)\n"));
    login.tool("sacct", "echo '41_1|COMPLETED'; echo '41_2|TIMEOUT'; echo '41_3|FAILED'");
    CHECK_THAT(login.run_well({"status", "m"}),
               Contains("shares of 3: completed 1; failed 3; timeout 2\n"));
  }
  SECTION("nor after a submission that was killed") {
    fs::remove(login.here.folder() / "runs/m/cluster/0001/submission.json");
    const Outcome got = login.run(kSubmit);
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Contains("runs/m/cluster/0001 has no submission.json"));
  }
}

TEST_CASE("submit: what is wrong is said in one line", "[cli][cluster]") {
  const Login login;
  const auto line_of = [&](const Workplace::Arguments& arguments, int code) {
    const Outcome got = login.run(arguments);
    CHECK(got.code == code);
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
    return got.err;
  };
  SECTION("no scheduler") {
    CHECK_THAT(line_of({"submit", "m.yaml"}, 2),
               Contains("submit: --to is missing: wanted --to slurm or --to htcondor"));
  }
  SECTION("an unknown scheduler") {
    CHECK_THAT(line_of({"submit", "m.yaml", "--to", "pbs"}, 2), Contains("pbs"));
  }
  SECTION("no sbatch") {
    login.remove_tool("sbatch");
    CHECK_THAT(line_of(kSubmit, 2),
               Contains("submit: no sbatch on PATH: wanted a machine from which Slurm takes jobs; "
                        "--dry-run prints what would be submitted"));
    CHECK_FALSE(fs::exists(login.here.folder() / "runs/m/cluster/0001"));
  }
  SECTION("no condor_submit") {
    login.remove_tool("condor_submit");
    CHECK_THAT(line_of({"submit", "m.yaml", "--to", "htcondor"}, 2),
               Contains("submit: no condor_submit on PATH"));
  }
  SECTION("a job that Slurm refuses") {
    login.tool("sbatch", "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
    CHECK_THAT(
        line_of(kSubmit, 2),
        Contains("submit: sbatch: invalid partition specified: gpu; wanted `cluster.partition`"));
    CHECK_FALSE(fs::exists(login.here.folder() / "runs/m/cluster/0001"));
  }
  SECTION("more tasks than the cluster takes in one job") {
    login.tool("sbatch",
               "echo 'sbatch: error: Batch job submission failed: Invalid job array specification' "
               ">&2; exit 1");
    CHECK_THAT(line_of(kSubmit, 2),
               Contains("submit: sbatch: Batch job submission failed: Invalid job "
                        "array specification; the cluster allows fewer tasks of one job: submit "
                        "with fewer --shares"));
    CHECK_FALSE(fs::exists(login.here.folder() / "runs/m/cluster/0001"));
    CHECK_THAT(line_of({"submit", "m.yaml", "--to", "slurm", "--shares", "100001"}, 2),
               Contains("--shares"));
  }
  SECTION("an unknown key") {
    CHECK_THAT(line_of({"submit", "m.yaml", "--to", "slurm", "--set", "cluster={memroy: 3GB}"}, 2),
               Contains("cluster: unknown key `memroy`; did you mean `memory`?"));
  }
  SECTION("an impossible number of shares") {
    CHECK_THAT(line_of({"submit", "m.yaml", "--to", "slurm", "--shares", "0"}, 2),
               Contains("--shares"));
  }
}

TEST_CASE("submit: a template of the user's own takes the place of the script", "[cli][cluster]") {
  const Login login;
  const Workplace::Arguments mine = with(with(kSubmit, "--template"), "my.sbatch");
  login.here.folder().write("my.sbatch",
                            "#!/bin/bash\n#SBATCH --array={{array}}\n#SBATCH -p {{partition}}\n"
                            "exec {{quench}} --share $SLURM_ARRAY_TASK_ID/{{of}}\n");
  login.run_well(mine);
  const std::string expected = "#!/bin/bash\n#SBATCH --array=1-3\nexec " +
                               fs::canonical(quench::test::program_path()).string() + " run " +
                               login.path("m.yaml") + " --out " + login.path("runs/m") +
                               " --share $SLURM_ARRAY_TASK_ID/3\n";
  CHECK(read_file(login.here.folder() / "sent") == expected);

  fs::remove_all(login.here.folder() / "runs");
  login.here.folder().write("my.sbatch", "#!/bin/bash\n#SBATCH -p {{partion}}\n");
  const Outcome unknown = login.run(mine);
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, Contains("my.sbatch:2: got the placeholder {{partion}}, wanted one of "
                                   "account, array, at_once, ") &&
                              Contains("; did you mean {{partition}}?\n"));
  fs::remove(login.here.folder() / "my.sbatch");
  const Outcome absent = login.run(mine);
  CHECK(absent.code == 2);
  CHECK_THAT(absent.err, Contains("my.sbatch: No such file or directory\n"));
  CHECK_FALSE(fs::exists(login.here.folder() / "runs"));
}

TEST_CASE("submit: what any engine runs is printed, and its tasks together are the run",
          "[cli][cluster]") {
  const Login login;
  const std::string script =
      login.run_well({"submit", "m.yaml", "--to", "generic", "--shares", "3"});
  CHECK_FALSE(fs::exists(login.here.folder() / "runs"));
  login.here.folder().write("task.sh", script);
  for (const char* index : {"0", "1", "2"}) {
    const auto ended = quench::test::run_program({"/bin/bash", login.path("task.sh")},
                                                 {{"JOB_COMPLETION_INDEX", index}}, "/");
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK_THAT(ended.out, Contains(" of 3 (Kubernetes job)\n"));
  }
  CHECK_THAT(login.run_well({"status", "m"}), Contains("records  9 done, 0 failed"));
  CHECK_THAT(login.run_well({"submit", "m.yaml", "--to", "kubernetes"}),
             Contains("nothing to submit\n"));

  const json printed = quench::test::data_of(login.run_well(
      {"submit", "m.yaml", "--to", "kubernetes", "--shares", "3", "--out", "other", "--json"}));
  CHECK(printed.at("submission").at("job").is_null());
  CHECK_THAT(printed.at("submission").at("files").at("job.yaml").get<std::string>(),
             Contains("completionMode: Indexed\n  completions: 3\n") && Contains("--share auto/3"));
  CHECK_FALSE(fs::exists(login.here.folder() / "other"));
}

TEST_CASE("submit: HTCondor gets a description and a script", "[cli][cluster]") {
  const Login login;
  const Workplace::Arguments condor = {"submit", "m.yaml", "--to", "htcondor", "--shares", "3"};
  const std::string dry = login.run_well(with(condor, "--dry-run"));
  CHECK_THAT(dry, Contains("/cluster/0001/job.sub <==\n"));
  CHECK_THAT(dry, Contains("queue share in (1, 2, 3)\n"));
  CHECK_THAT(dry, Contains("/cluster/0001/task.sh <==\n"));
  CHECK_THAT(dry, Contains("--share \"$1/3\" --threads 1\n"));
  CHECK_THAT(dry, !Contains("hf_secret"));

  CHECK_THAT(login.run_well(condor),
             Contains("htcondor job 41: shares 1-3 of 3") && Contains("end it: condor_rm 41"));
  const fs::path task = login.here.folder() / "runs/m/cluster/0001/task.sh";
  const auto ended =
      quench::test::run_program({task.string(), "2"}, {}, login.here.folder().path());
  CHECK(ended.code == 0);

  // Numbers of processes count from 0, in the order of the shares that were sent.
  login.queue("0, 2, undefined, undefined\n2, 5, undefined, Out of memory\n");
  CHECK_THAT(
      login.run_well({"status", "m"}),
      Contains("htcondor job 41") && Contains("shares of 3: ended 2; held (Out of memory) 3; "
                                              "running 1\n"));
  CHECK_THAT(login.run_well(condor), Contains("nothing to submit\n"));
}
