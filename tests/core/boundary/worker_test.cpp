// A plugin that does what it must not, in a process of its own: its cell fails with all that is
// known, and nothing else is touched.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/plugin/sandbox/sandbox.hpp"
#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::boundary_plugin;
using quench::test::MisbehavingRun;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kApart;  // nothing is kept in the program's process

// The cell of a quantizer that does `deed` fails with `words`; the run ends and has all others.
void check_apart(const std::string& deed, const std::string& words,
                 Workplace::Arguments more = {}) {
  CAPTURE(deed);
  const MisbehavingRun run(deed, "", kApart);
  more.emplace_back("--json");
  const Outcome got = run.run(more);
  INFO(got.err);
  REQUIRE(got.code == 1);
  const json records = quench::test::data_of(got.out).at("records");
  const json failed = MisbehavingRun::cell(records, "misbehaving");
  REQUIRE(failed.is_string());
  CHECK_THAT(failed.get<std::string>(), Contains("quantizer misbehaving: ") && Contains(words));
  CHECK(MisbehavingRun::cell(records, "template_quantizer") == quench::test::undisturbed_loss());
}

// What a file of /proc holds; of a process that ends meanwhile less, where an iterator would throw.
std::string held_by(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Processes whose command line has `word` and whose parent is `parent`.
std::vector<pid_t> children_with(const std::string& word, pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const std::string text = held_by(entry.path() / "cmdline");
    const std::string stat = held_by(entry.path() / "stat");
    int of = 0;
    const size_t close = stat.rfind(')');
    if (close != std::string::npos && text.find(word) != std::string::npos &&
        std::sscanf(stat.c_str() + close, ") %*c %d", &of) == 1 && of == parent) {
      out.push_back(static_cast<pid_t>(std::stoi(name)));
    }
  }
  return out;
}

// Starts the run when its plugins are described: the workers that it has then are those of its
// cells, and none that only describes.
quench::ChildProcess start_described(const MisbehavingRun& run) {
  const Outcome listed = run.here.run(
      {"plugins", "list", "--plugin-path", quench::test::boundary_plugin("misbehaving")});
  INFO(listed.err);
  REQUIRE(listed.code == 0);
  return run.here.start(run.arguments());
}

}  // namespace

TEST_CASE("worker: a quantizer gives the same values in a process of its own", "[boundary]") {
  const MisbehavingRun run("nothing", "", kApart);
  const Outcome got = run.run({"--json"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  const json records = quench::test::data_of(got.out).at("records");
  CHECK(MisbehavingRun::cell(records, "template_quantizer") == quench::test::undisturbed_loss());
  CHECK(MisbehavingRun::cell(records, "misbehaving").is_number());
}

TEST_CASE("worker: the run's folder says what a process was confined to and what it mapped",
          "[boundary]") {
  const MisbehavingRun run("nothing", "", kApart);
  REQUIRE(run.run().code == 0);
  json found;
  for (const auto& entry : fs::recursive_directory_iterator(run.here.folder().path())) {
    if (entry.path().filename().string().starts_with("processes-0-")) {
      found = json::parse(quench::test::read_file(entry.path()));
    }
  }
  const auto process = std::find_if(found.begin(), found.end(), [](const json& each) {
    return each.at("plugin") == "quantizer misbehaving";
  });
  REQUIRE(process != found.end());
  CHECK(process->at("module").get<std::string>().ends_with("misbehaving.so"));
  CHECK(process->at("sandbox") == quench::sandbox_abilities().text);
  CHECK(process->at("peak_memory_bytes").get<uint64_t>() > uint64_t{1} << 20);
  const json libraries = process->at("libraries");
  CHECK(std::any_of(libraries.begin(), libraries.end(), [](const json& library) {
    return library.at("soname") == "libc.so.6" &&
           library.at("build_id").get<std::string>().size() == 40;
  }));
}

TEST_CASE("worker: no secret among its user's variables reaches a plugin", "[boundary]") {
  const MisbehavingRun run("tell_variables", "", kApart);
  quench::Command command = run.here.command(run.arguments({"--json"}));
  for (const char* variable :
       {"HF_TOKEN=hf_0", "AWS_SECRET_ACCESS_KEY=0", "QUENCH_OF_MY_PLUGIN=1"}) {
    command.environment->emplace_back(variable);
  }
  quench::ChildProcess process = quench::ChildProcess::start(command);
  const Outcome got = run.here.wait(process);
  INFO(got.err);
  REQUIRE(got.code == 1);
  const json records = quench::test::data_of(got.out).at("records");
  CHECK_THAT(MisbehavingRun::cell(records, "misbehaving").get<std::string>(),
             Contains("HF_TOKEN is not set; AWS_SECRET_ACCESS_KEY is not set; "
                      "QUENCH_OF_MY_PLUGIN is set"));
}

TEST_CASE("worker: a plugin that ends its process fails its cell alone", "[boundary]") {
  check_apart("exit", "its process, in quantize, exited with code 0");
  check_apart("_exit", "its process, in quantize, exited with code 0");
  check_apart("quick_exit", "its process, in quantize, exited with code 0");
  check_apart("exit_on_thread", "its process, in quantize, exited with code 0");
}

TEST_CASE("worker: a plugin that crashes fails its cell alone", "[boundary]") {
  check_apart("abort", "its process, in quantize, was ended by signal 6");
  check_apart("write_to_null", "its process, in quantize, was ended by signal 11");
  check_apart("execute_nonsense", "its process, in quantize, was ended by signal 4");
  check_apart("overflow_stack", "its process, in quantize, was ended by signal 11");
  check_apart("crash_in_task", "its process, in quantize, was ended by signal 6");
  check_apart("throw_over_border", "what():  thrown over the border");
}

TEST_CASE("worker: a plugin that leaves its process changed fails its cell alone", "[boundary]") {
  check_apart("round_up", "quantize: the rounding mode is now upward, wanted to nearest");
  check_apart("round_up_in_task", "quantize: the rounding mode is now upward, wanted to nearest");
  check_apart("change_folder", "quantize: the current folder is now /");
  check_apart("change_locale", "quantize: the locale is now C.UTF-8, wanted C");
  check_apart("take_signal", "quantize: the handler of SIGINT is now another one");
}

TEST_CASE("worker: what a plugin prints stays with its process", "[boundary]") {
  const MisbehavingRun run("print", "", kApart);
  const Outcome got = run.run({"--json"});
  INFO(got.err);
  CHECK(got.code == 0);
  CHECK(quench::test::data_of(got.out).at("records").size() >= 3);
}

TEST_CASE(
    "worker: what a plugin prints is in the log, and the last lines in a failed cell's record",
    "[boundary]") {
  const MisbehavingRun run("throw_over_border", "", kApart);
  const Outcome got = run.run();
  INFO(got.err);
  REQUIRE(got.code == 1);
  CHECK_THAT(got.err, !Contains("printed: "));
  const fs::path folder = run.here.folder() / "runs/m";
  std::string words;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("log-0-")) {
      continue;
    }
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const json one = json::parse(line);
      CHECK(one.size() == 5);
      CHECK_THAT(one.at("time").get<std::string>(), Catch::EndsWith("Z"));
      if (one.at("level") == "debug" && one.at("plugin").is_string()) {
        words += one.at("message").get<std::string>() + "\n";
      }
    }
  }
  CHECK_THAT(words, Contains("printed: ") && Contains("what():  thrown over the border"));
  for (const json& record : run.records()) {
    if (record.at("value").is_null() && !record.at("error").is_null()) {
      CHECK_THAT(record.at("details").at("log").dump(), Contains("thrown over the border"));
    }
  }
  CHECK_THAT(run.run({"--retry", "failed", "-v"}).err, Contains("printed: "));
}

TEST_CASE("worker: a failed cell is computed again on request, by a fresh process", "[boundary]") {
  const MisbehavingRun run("abort", "", kApart);
  CHECK(run.run().code == 1);
  CHECK(run.run().code == 1);  // failed, and not computed again
  const Outcome again = run.run({"--retry", "failed"});
  CHECK(again.code == 1);
  CHECK_THAT(again.out + again.err, Contains("signal 6"));
}

// The template family's and the quantizer's; one of them finds the other gone.
TEST_CASE("worker: processes that are killed from outside interrupt their cell", "[boundary]") {
  const bool latest_first = GENERATE(false, true);
  CAPTURE(latest_first);
  const MisbehavingRun run("hang", "", kApart);
  quench::ChildProcess process = start_described(run);
  std::vector<pid_t> workers;
  for (int i = 0; i < 600 && workers.size() < 2; ++i) {
    ::usleep(50'000);
    workers = children_with("__worker", process.id());
  }
  ::usleep(1'000'000);
  REQUIRE(workers.size() >= 2);
  std::sort(workers.begin(), workers.end());
  if (latest_first) {
    std::reverse(workers.begin(), workers.end());
  }
  for (const pid_t worker : workers) {
    ::kill(worker, SIGKILL);
    ::usleep(100'000);
  }
  const Outcome got = run.here.wait(process);
  INFO(got.err);
  CHECK(got.code == 1);
  CHECK_THAT(got.err, Contains("was not measured and is not recorded as failed"));
  CHECK_THAT(got.out, Contains(" not measured; measure them with: ") && !Contains("failed"));
}

TEST_CASE("worker: all that a plugin sends is a sign of life", "[boundary]") {
  for (const char* deed : {"ask_for_long", "log_for_long", "report_for_long", "count_for_long",
                           "log_on_thread", "ask_in_task"}) {
    CAPTURE(deed);
    const MisbehavingRun run(deed, "", kApart);
    const Outcome got = run.run({"--json", "--worker-silence", "1.5"});
    INFO(got.err);
    CHECK(got.code == 0);
  }
}

TEST_CASE("worker: a plugin that gives no sign of life is ended", "[boundary]") {
  check_apart("hang", "its process, in quantize, gave no sign for 1 s and was ended",
              {"--worker-silence", "1"});
  check_apart("log_for_ever",
              "its process, in quantize, gave no sign but log lines for 5 s and was ended",
              {"--worker-silence", "0.5"});
}

TEST_CASE("worker: one call may take as long as the user says", "[boundary]") {
  check_apart("ask_for_ever",
              "its process, in quantize, took more than the 1.5 s that one call may and was ended",
              {"--worker-time", "1.5"});
}

TEST_CASE("worker: what a plugin gives without end fails its cell, and the host stays small",
          "[boundary]") {
  const std::string texts =
      "text0: got 15728640 bytes beside 279 before, wanted at most 1048576 for all numbers and "
      "texts of one linear";
  check_apart("write_texts", texts);
  check_apart("ignore_refusal", texts);
  check_apart("make_tensors", "a: got 536870912 bytes beside 0 before, wanted at most 67");
}

TEST_CASE("worker: SIGTERM is heard while a plugin calls without end", "[boundary]") {
  const MisbehavingRun run("write_texts_for_ever", "", kApart);
  quench::ChildProcess process = start_described(run);
  for (int i = 0; i < 600 && children_with("__worker", process.id()).empty(); ++i) {
    ::usleep(50'000);
  }
  ::usleep(1'000'000);
  process.signal(SIGTERM);
  for (int i = 0; i < 1200 && !process.has_ended(); ++i) {
    ::usleep(50'000);
  }
  REQUIRE(process.has_ended());
  CHECK(run.here.wait(process).code == 75);
}

TEST_CASE("worker: Ctrl-C ends a plugin that hangs", "[boundary]") {
  const MisbehavingRun run("hang", "", kApart);
  quench::ChildProcess process = start_described(run);
  for (int i = 0; i < 600 && children_with("__worker", process.id()).empty(); ++i) {
    ::usleep(50'000);
  }
  ::usleep(1'000'000);
  process.signal(SIGINT);
  CHECK(run.here.wait(process).code == 130);
}
