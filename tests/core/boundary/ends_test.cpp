// A plugin that ends the process, or never comes back: what is said, and how the run goes on.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using nlohmann::json;
using quench::test::MisbehavingRun;
using quench::test::Outcome;

namespace {

namespace fs = std::filesystem;

size_t death_notes(const MisbehavingRun& run) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(run.here.folder() / "runs/m")) {
    count += entry.path().filename().string().starts_with("died-") ? 1 : 0;
  }
  return count;
}

// The process ends with `code`, says by what in one line with all that is known, and goes on.
void check_end(const std::string& deed, int code, const std::string& cause) {
  CAPTURE(deed);
  const MisbehavingRun run(deed);
  const Outcome dead = run.run();
  INFO(dead.err);
  CHECK(dead.code == code);
  CHECK(dead.out.empty());
  CHECK_THAT(dead.err, Contains("quantizer misbehaving: quantize (") &&
                           Contains("): the process was ended by " + cause +
                                    "; at work on tiny, misbehaving") &&
                           Contains("; continue with: ") && Contains("quench run m.yaml"));
  CHECK(death_notes(run) == 1);

  // The next attempt takes the cell as failed and measures the rest.
  const Outcome next = run.run({"--json"});
  INFO(next.err);
  REQUIRE(next.code == 1);
  const json records = quench::test::data_of(next.out).at("records");
  const json failed = MisbehavingRun::cell(records, "misbehaving");
  REQUIRE(failed.is_string());
  CHECK_THAT(failed.get<std::string>(), Contains("quantizer misbehaving: quantize (") &&
                                            Contains("the process was ended by " + cause) &&
                                            Contains("(attempt 0001-"));
  CHECK(MisbehavingRun::cell(records, "template_quantizer") == quench::test::undisturbed_loss());
  CHECK(death_notes(run) == 0);
}

}  // namespace

TEST_CASE("boundary: a plugin that leaves by a function of libc's is no success", "[boundary]") {
  check_end("exit", 1, "exit(0)");
  check_end("_exit", 1, "_exit(0)");
  check_end("_Exit", 1, "_Exit(0)");
  check_end("quick_exit", 1, "quick_exit(0)");
}

TEST_CASE("boundary: exit on a thread that a plugin started is no success", "[boundary]") {
  check_end("exit_on_thread", 1, "exit(0)");
}

TEST_CASE("boundary: a plugin that crashes is named, and the signal ends the process",
          "[boundary]") {
  check_end("abort", 128 + SIGABRT, "SIGABRT");
  check_end("write_to_null", 128 + SIGSEGV, "SIGSEGV");
  check_end("execute_nonsense", 128 + SIGILL, "SIGILL");
}

TEST_CASE("boundary: a stack that overflows is reported on another one", "[boundary]") {
  check_end("overflow_stack", 128 + SIGSEGV, "SIGSEGV");
}

TEST_CASE("boundary: an exception that leaves a C function is told with its words", "[boundary]") {
  check_end("throw_over_border", 128 + SIGABRT,
            "SIGABRT after an exception that nobody caught: thrown over the border");
}

TEST_CASE("boundary: memory that ends where no error can be returned is no crash", "[boundary]") {
  check_end("starve_at_border", 1, "a want of memory where no error can be returned");
}

TEST_CASE("boundary: a crash on a pool thread is told with the call that it works for",
          "[boundary]") {
  check_end("crash_in_task", 128 + SIGABRT, "SIGABRT");
}

TEST_CASE("boundary: a cell at which the process died is tried again on request", "[boundary]") {
  const MisbehavingRun run("abort");
  CHECK(run.run().code == 128 + SIGABRT);
  CHECK(run.run({"--json"}).code == 1);
  CHECK(run.run({"--json"}).code == 1);  // failed, and not computed again
  CHECK(run.run({"--retry", "failed"}).code == 128 + SIGABRT);
  CHECK(run.run({"--json"}).code == 1);
}

TEST_CASE("boundary: eval says what ended it, too", "[boundary]") {
  const quench::test::Workplace here(quench::test::Page::kNone);
  const Outcome got =
      here.run({"eval", "tiny", "--quantizer", "misbehaving:deed=_exit", "--metric",
                "validation_loss:text=t.txt,block=16", "--plugin-path",
                quench::test::boundary_plugin("misbehaving"), "--in-process", "misbehaving"});
  CHECK(got.code == 1);
  CHECK(got.out.empty());
  CHECK_THAT(got.err, Contains("the process was ended by _exit(0)"));
}

TEST_CASE("boundary: eval keeps what was measured beside a quantizer that fails", "[boundary]") {
  const quench::test::Workplace here(quench::test::Page::kNone);
  const quench::test::Workplace::Arguments eval = {
      "eval",          "tiny",
      "--quantizer",   "misbehaving:deed=round_up",
      "--quantizer",   "template_quantizer:bits=3",
      "--metric",      "validation_loss:text=t.txt,block=16",
      "--metric",      "validation_loss:text=t.txt,block=32",
      "--plugin-path", quench::test::boundary_plugin("misbehaving")};
  const Outcome table = here.run(eval);
  CHECK(table.code == 1);
  CHECK_THAT(table.out, Contains("template_quantizer bits=3") && Contains("float") &&
                            Contains("failed: ") && Contains("rounding mode"));
  CHECK_THAT(table.err, EndsWith("2 of 6 records failed\n"));

  quench::test::Workplace::Arguments with_json = eval;
  with_json.emplace_back("--json");
  const json document = json::parse(here.run(with_json).out);
  CHECK(document.at("error").at("status") == "failed");
  CHECK(document.at("error").at("exit_code") == 1);
  const json& records = document.at("data").at("records");
  CHECK(records.size() == 8);  // float, failed and quantized by two metrics; two errors
  for (const json& record : records) {
    const bool fails =
        record.at("quantizer").is_object() && record.at("quantizer").at("id") == "misbehaving";
    CHECK(record.at("error").is_string() == fails);
    CHECK(record.at("value").is_number() != fails);
  }
  // Nothing is measured, so nothing is printed.
  const Outcome nothing = here.run(
      {"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16", "--tokenizer", "t.txt"});
  CHECK(nothing.code != 0);
  CHECK(nothing.out.empty());
}

TEST_CASE("boundary: a run that was killed is told of by the next attempt", "[boundary]") {
  const MisbehavingRun run("hang");
  quench::ChildProcess process = run.here.start(run.arguments());
  CHECK(run.here.wait_for_work());
  ::usleep(1'000'000);
  process.signal(SIGKILL);
  CHECK(run.here.wait(process).code == 128 + SIGKILL);
  CHECK(death_notes(run) == 0);
  run.here.folder().write("m.yaml",
                          "name: m\n"
                          "checkpoints: {model: tiny}\n"
                          "metrics:\n"
                          "  - validation_loss: {corpus: v, block: 16}\n"
                          "corpora: {v: {text: {path: t.txt}}}\n");
  const Outcome next = run.run();
  CHECK(next.code == 0);
  CHECK_THAT(next.err, Contains("did not finish: its process is gone, last at work on tiny"));
}

TEST_CASE("boundary: the first Ctrl-C says what is waited for, the second ends a plugin that hangs",
          "[boundary]") {
  const MisbehavingRun run("hang");
  quench::ChildProcess process = run.here.start(run.arguments());
  CHECK(run.here.wait_for_work());
  const auto err = [&] { return quench::test::read_file(run.here.folder() / "err"); };
  for (int i = 0; i < 200 && err().find("misbehaving") == std::string::npos; ++i) {
    ::usleep(50'000);
  }
  ::usleep(500'000);
  process.signal(SIGINT);
  for (int i = 0; i < 100 && err().find("Ctrl-C") == std::string::npos; ++i) {
    ::usleep(50'000);
  }
  CHECK_THAT(err(), Contains("waiting for quantizer misbehaving: quantize (") &&
                        EndsWith("); press Ctrl-C again to stop now\n"));
  process.signal(SIGINT);
  CHECK(run.here.wait(process).code == 130);
}
