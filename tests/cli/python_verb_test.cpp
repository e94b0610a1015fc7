// How the program starts a verb that is written in Python. The interpreters are scripts of shells
// that say which one they are; `quench export` is the verb.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/store/record_file.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::test::Ended;

namespace {

class Interpreters {
 public:
  Interpreters() {
    quench::RecordFile file(folder_ / "runs/r", "0");
    file.append(quench::test::sample_record(200, "", 2));
    file.close();
  }

  // A program that has what is asked for and does `verb`; without one it lacks it.
  fs::path add(const std::string& name, const std::string& verb = "") const {
    const std::string answer =
        verb.empty() ? "printf 'has no module tensorboard\\nget " + name + "\\n'; exit 1"
                     : "exit 0";
    fs::path path = folder_.write(
        name, "#!/bin/sh\nif [ \"$2\" = requirements ]; then " + answer + "; fi\n" + verb + "\n");
    ::chmod(path.c_str(), 0700);
    return path;
  }
  fs::path says(const std::string& name) const { return add(name, "echo " + name + "; exit 7"); }

  std::vector<std::string> words() const {
    return {(quench::test::binary_dir() / "bin/quench").string(), "export", "r", "--to",
            "tensorboard"};
  }
  Ended run(const quench::test::Environment& environment) const {
    return quench::test::run_program(words(), environment, folder_.path());
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

 private:
  quench::test::TemporaryDir folder_;
};

}  // namespace

TEST_CASE("verbs in Python: the first interpreter with the packages runs them, in order", "[cli]") {
  const Interpreters here;
  quench::test::Environment environment = {{"QUENCH_PYTHON", here.says("named").string()},
                                           {"VIRTUAL_ENV", here.at("venv")},
                                           {"CONDA_PREFIX", here.at("conda")},
                                           {"PATH", here.at("path")}};
  here.says("venv/bin/python3");
  here.says("conda/bin/python3");
  here.says("path/python3");
  for (const char* name : {"named", "venv/bin/python3", "conda/bin/python3", "path/python3"}) {
    CAPTURE(name);
    const Ended ended = here.run(environment);
    CHECK(ended.out == std::string(name) + "\n");
    CHECK(ended.code == 7);
    here.add(name);  // from now on it lacks them
  }
}

TEST_CASE("verbs in Python: no interpreter of the working folder is started", "[cli]") {
  const Interpreters here;
  here.says("python3");
  here.says("bin/python3");
  here.says("path/python3");
  const Ended ended =
      here.run({{"PATH", ".:bin::" + here.at("path")}, {"VIRTUAL_ENV", "."}, {"CONDA_PREFIX", ""}});
  CHECK(ended.out == "path/python3\n");
}

TEST_CASE("verbs in Python: without the packages a line names the interpreters and what to type",
          "[cli]") {
  const Interpreters here;
  here.add("venv/bin/python3");
  here.add("path/python3");
  const Ended ended = here.run({{"VIRTUAL_ENV", here.at("venv")}, {"PATH", here.at("path")}});
  CHECK(ended.code == 1);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.err,
             Catch::StartsWith(here.at("venv/bin/python3") +
                               " has no module tensorboard (nor has " + here.at("path/python3")) &&
                 Catch::Contains("): get venv/bin/python3, or name an interpreter") &&
                 Catch::EndsWith(" that has it with --python\n"));
  const Ended none = here.run({{"QUENCH_PYTHON", "python3"}});
  CHECK(none.code == 1);
  CHECK(none.err ==
        "QUENCH_PYTHON: got python3, wanted the absolute path of a Python interpreter\n");
}

TEST_CASE("verbs in Python: a signal reaches them and ends them as it ends a run", "[cli]") {
  const Interpreters here;
  const fs::path patient = here.add("patient",
                                    "trap 'echo told > told; exit 0' TERM\ntouch here\n"
                                    "while :; do sleep 0.05; done");
  quench::ChildProcess child = quench::test::start_silently(
      here.words(), {{"QUENCH_PYTHON", patient.string()}}, here.at(""));
  for (int i = 0; i < 600 && !fs::exists(here.at("here")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  child.signal(SIGTERM);
  CHECK(child.ends_within(std::chrono::seconds(60)));
  CHECK(child.wait().code() == 75);
  CHECK(fs::exists(here.at("told")));
}
