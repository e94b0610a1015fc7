// quench export, from the typed command to what the trackers' own readers find. What is sent of
// which records, python/tests/test_trackers*.py hold.
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/store/derived.hpp"
#include "core/store/heartbeat.hpp"
#include "core/store/record_file.hpp"
#include "core/store/run_folder.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using nlohmann::json;
using quench::Record;
using quench::test::Ended;
using quench::test::run_program;
using quench::test::sample_record;

namespace {

// The interpreter of the environment that `dev test` makes.
const std::string kPython = QUENCH_TRACKERS_PYTHON;

// {"<folder> <tag> <step>": value} of the event files below a folder, by TensorBoard's own reader.
const std::string kReader = R"(
import json, os, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = {}
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        reader = EventAccumulator(os.path.join(folder, name), size_guidance={"scalars": 0})
        reader.Reload()
        for tag in reader.Tags()["scalars"]:
            for event in reader.Scalars(tag):
                found["%s %s %d" % (os.path.relpath(folder, sys.argv[1]), tag, event.step)] = event.value
print(json.dumps(found))
)";

void need_tensorboard() {
  quench::test::skip_unless(fs::exists(kPython), "no clients of trackers in " + kPython);
}

// A folder with a run `runs/r`: a float value and a quantized one of two steps, from which two
// errors derive.
class ExportPlace {
 public:
  ExportPlace() {
    quench::RecordFile file(folder_ / "runs/r", "0");
    for (const int64_t step : {200, 400}) {
      file.append(sample_record(step, "", 2));
      file.append(sample_record(step, "q4", 2.5));
    }
    file.close();
    fs::create_directory(folder_ / "home");
  }

  std::vector<std::string> words(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {(quench::test::binary_dir() / "bin/quench").string(), "export"});
    return arguments;
  }
  quench::test::Environment environment() const {
    return {{"QUENCH_HOME", (folder_ / "home").string()}};
  }
  Ended run(const std::vector<std::string>& arguments) const {
    return run_program(words(arguments), environment(), folder_.path());
  }
  json events() const {
    const Ended read = run_program(
        {kPython, "-c", kReader, (folder_ / "runs/r/tensorboard").string()}, {}, folder_.path());
    INFO(read.err);
    REQUIRE(read.code == 0);
    return json::parse(read.out);
  }
  // The values that the program itself has of the run.
  std::multiset<double> values() const {
    std::multiset<double> out;
    for (const Record& record :
         quench::with_derived(quench::read_run(folder_ / "runs/r").records)) {
      out.insert(static_cast<float>(record.value.get<double>()));
    }
    return out;
  }
  const quench::test::TemporaryDir& folder() const { return folder_; }

 private:
  quench::test::TemporaryDir folder_;
};

std::multiset<double> values_in(const json& events) {
  std::multiset<double> out;
  for (const json& value : events) {
    out.insert(value.get<double>());
  }
  return out;
}

}  // namespace

TEST_CASE(
    "export: TensorBoard reads the values that the program has, and a second export adds none",
    "[cli]") {
  need_tensorboard();
  const ExportPlace place;
  const Ended first = place.run({"r", "--to", "tensorboard", "--python", kPython});
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.out, Contains("6 values sent; lines: 2 new"));
  const json events = place.events();
  CHECK(events.size() == 6);
  CHECK(values_in(events) == place.values());
  const Ended second = place.run({"runs/r", "--to", "tensorboard", "--python", kPython});
  CHECK_THAT(second.out, Contains("0 values sent") && Contains("2 unchanged"));
  CHECK(place.events() == events);
}

TEST_CASE("export: follows a run until nothing runs", "[cli]") {
  need_tensorboard();
  const ExportPlace place;
  auto heart =
      std::make_unique<quench::Heartbeat>(place.folder() / "runs/r", "0", "0001-00000000", 8);
  quench::ChildProcess child = quench::test::start_silently(
      place.words({"r", "--to", "tensorboard", "--follow", "--python", kPython}),
      place.environment(), place.folder().path());
  quench::RecordFile more(place.folder() / "runs/r", "0");
  more.append(sample_record(600, "", 2));
  more.close();
  CHECK_FALSE(child.ends_within(std::chrono::seconds(1)));
  heart.reset();
  CHECK(child.ends_within(std::chrono::seconds(60)));
  CHECK(child.wait().code() == 0);
  CHECK(values_in(place.events()) == place.values());
}

TEST_CASE("export: a signal ends following as it ends a run", "[cli]") {
  need_tensorboard();
  const ExportPlace place;
  const quench::Heartbeat heart(place.folder() / "runs/r", "0", "0001-00000000", 8);
  quench::ChildProcess child = quench::test::start_silently(
      place.words({"r", "--to", "tensorboard", "--follow", "--python", kPython}),
      place.environment(), place.folder().path());
  for (int i = 0; i < 600 && !fs::exists(place.folder() / "runs/r/tensorboard"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  child.signal(SIGTERM);
  CHECK(child.ends_within(std::chrono::seconds(60)));
  CHECK(child.wait().code() == 75);
  CHECK(values_in(place.events()) == place.values());
}

TEST_CASE("export: what lies in the working folder is not run", "[cli]") {
  need_tensorboard();
  const ExportPlace place;
  for (const char* name : {"tensorboard.py", "quench.py", "argparse.py"}) {
    place.folder().write(name, "open('was_run', 'w')\n");
  }
  CHECK(place.run({"r", "--to", "tensorboard", "--python", kPython}).code == 0);
  CHECK_FALSE(fs::exists(place.folder() / "was_run"));
}

TEST_CASE("export: a client that is missing is one line with the interpreter", "[cli]") {
  const std::string usual = "/usr/bin/python3";
  quench::test::skip_unless(
      fs::exists(usual) && run_program({usual, "-c", "import wandb"}, {}, "/tmp").code != 0,
      usual + " is not there, or has wandb");
  const ExportPlace place;
  quench::test::Environment environment = place.environment();
  environment["PATH"] = "/usr/bin:/bin";
  const Ended ended =
      run_program(place.words({"r", "--to", "wandb"}), environment, place.folder().path());
  CHECK(ended.code == 1);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.err,
             Catch::StartsWith(usual + " has no module wandb: install it ") &&
                 Contains("-m pip install wandb)") &&
                 Catch::EndsWith(", or name an interpreter that has it with --python\n"));
}

TEST_CASE("export: wrong command lines are told with code 2", "[cli]") {
  const ExportPlace place;
  const auto told = [&](const std::vector<std::string>& arguments) {
    const Ended ended = place.run(arguments);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(told({"none", "--to", "wandb"}) ==
        "none: no such run, and no runs/none either; runs/ has r\n");
  CHECK(told({"r", "--to", "wandb", "--python", "none"}) ==
        "--python: got none, wanted the path of a Python interpreter\n");
  CHECK_THAT(told({"r", "--to", "comet"}), Contains("--to: comet not in"));
  quench::test::skip_unless(fs::exists("/usr/bin/python3"), "there is no /usr/bin/python3");
  CHECK_THAT(told({"r", "--to", "mlflow"}), Contains("--to mlflow: wants --server URL"));
}
