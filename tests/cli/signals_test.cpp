#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "tests/cli/program.hpp"

using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

// Is there a finished record in runs/m? Waits up to 20 s for it.
bool wait_for_record(const Workplace& here) {
  namespace fs = std::filesystem;
  for (int i = 0; i < 200; ++i) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(here.folder() / "runs/m", error)) {
      if (quench::test::holds_records(entry.path()) && fs::file_size(entry.path(), error) > 0) {
        return true;
      }
    }
    ::usleep(100'000);
  }
  return false;
}

// Starts work that takes minutes, sends `number` half a second into it (or when a record is there),
// and sees it stop. The bound is generous: one second is promised on a machine that is not busy.
Outcome stopped_by(const Workplace& here, const Workplace::Arguments& arguments, int number,
                   bool after_record = false) {
  here.write_long_text();
  quench::ChildProcess process = here.start(arguments);
  CHECK(here.wait_for_work());
  if (after_record) {
    CHECK(wait_for_record(here));
  }
  ::usleep(500'000);
  const auto sent = std::chrono::steady_clock::now();
  process.signal(number);
  const Outcome got = here.wait(process);
  CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(5));
  return got;
}

const Workplace::Arguments kLongEval = {"eval", "tiny", "--metric",
                                        "validation_loss:text=long.txt,block=1024"};

}  // namespace

TEST_CASE("signals: each has its exit code, and eval prints nothing half", "[cli]") {
  const std::pair<int, int> cases[] = {{SIGINT, 130}, {SIGTERM, 75}, {SIGUSR1, 75}, {SIGHUP, 75}};
  for (const auto& [number, code] : cases) {
    CAPTURE(number);
    const Workplace here(Page::kNone);
    const Outcome got = stopped_by(here, kLongEval, number);
    CHECK(got.code == code);
    CHECK(got.out.empty());
    if (number == SIGINT) {  // somebody sits there
      CHECK_THAT(got.err,
                 Catch::StartsWith("tiny\nwaiting for ") &&
                     Catch::EndsWith("; press Ctrl-C again to stop now\nstopped on request\n"));
    } else {
      CHECK(got.err == "tiny\nstopped on request\n");
    }
  }
}

TEST_CASE("signals: a stopped run keeps its records and says where", "[cli]") {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: short, block: 16}\n"
                      "  - template_metric: {corpus: long, length: 4096}\n"
                      "corpora:\n"
                      "  short: {text: {path: t.txt}}\n"
                      "  long: {text: {path: long.txt, split: line}}\n");
  const Outcome got = stopped_by(here, {"run", "m.yaml"}, SIGTERM, true);
  CHECK(got.code == 75);
  CHECK(got.out.empty());
  CHECK_THAT(got.err,
             Catch::Contains("stopped on request; 1 new records are in runs/m; continue with: ") &&
                 Catch::EndsWith("quench run m.yaml\n"));
}

TEST_CASE("signals: tokenize stops while it waits for a line", "[cli]") {
  const Workplace here(Page::kNone);
  const std::string pipe = here.folder() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& [number, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 75)}) {
    CAPTURE(number);
    quench::ChildProcess process = here.start({"tokenize", "bytes"}, "<>" + pipe);
    ::usleep(500'000);
    const auto sent = std::chrono::steady_clock::now();
    process.signal(number);
    const Outcome got = here.wait(process);
    CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(2));
    CHECK(got.code == code);
    CHECK_THAT(got.err, Catch::EndsWith("stopped on request\n"));
  }
}
