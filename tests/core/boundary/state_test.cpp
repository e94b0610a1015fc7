// A call that leaves a worker's process changed: its cell fails, the others' numbers stay.
#include <catch2/catch.hpp>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::MisbehavingRun;
using quench::test::Outcome;

namespace {

// The cell of a quantizer that did `deed` fails with `words`; the cell after it is as without.
void check_state(const std::string& deed, const std::string& words) {
  CAPTURE(deed);
  const MisbehavingRun run(deed, "", {});
  const Outcome got = run.run({"--json", "--threads", "2"});
  INFO(got.err);
  REQUIRE(got.code == 1);
  const json records = quench::test::data_of(got.out).at("records");
  const json failed = MisbehavingRun::cell(records, "misbehaving");
  REQUIRE(failed.is_string());
  CHECK_THAT(failed.get<std::string>(),
             Contains("quantizer misbehaving: ") && Contains("quantize: " + words));
  CHECK(MisbehavingRun::cell(records, "template_quantizer") == quench::test::undisturbed_loss());
}

}  // namespace

TEST_CASE("boundary: a call that leaves another rounding mode fails its cell alone", "[boundary]") {
  check_state("round_up", "the rounding mode is now upward, wanted to nearest");
}

TEST_CASE("boundary: a task that leaves another rounding mode on a pool thread is seen",
          "[boundary]") {
  check_state("round_up_in_task", "the rounding mode is now upward, wanted to nearest");
}

#if defined(__x86_64__)
TEST_CASE("boundary: flush-to-zero, the x87 precision and trapped faults are set back",
          "[boundary]") {
  check_state("flush_to_zero",
              "flush-to-zero is now on, wanted off, denormals-are-zero is now on, wanted off");
  check_state("x87_single", "the x87 precision is now 24 bits, wanted 64 bits");
  check_state("trap_division", "the mask of floating-point faults (MXCSR) is now ");
}
#endif

TEST_CASE(
    "boundary: in the program's process, nothing is stored after another rounding mode is left",
    "[boundary]") {
  for (const char* deed : {"round_up", "round_up_in_task"}) {
    CAPTURE(deed);
    const MisbehavingRun run(deed);
    const Outcome got = run.run({"--json", "--threads", "2"});
    INFO(got.err);
    REQUIRE(got.code == 1);
    const json records = quench::test::data_of(got.out).at("records");
    for (const char* quantizer : {"misbehaving", "template_quantizer"}) {
      const json failed = MisbehavingRun::cell(records, quantizer);
      REQUIRE(failed.is_string());
      CHECK(failed ==
            "a plugin has changed how this process computes: the rounding mode is now "
            "upward, wanted to nearest");
    }
  }
}

TEST_CASE("boundary: a call that changes the current folder fails, and results stay in place",
          "[boundary]") {
  check_state("change_folder", "the current folder is now /, wanted /");
}

TEST_CASE("boundary: a call that changes a locale fails", "[boundary]") {
  check_state("change_locale", "the locale is now C.UTF-8, wanted C");
  check_state("change_thread_locale", "the locale of the thread is now one of its own");
}

TEST_CASE("boundary: a call that changes how signals are taken fails", "[boundary]") {
  check_state("take_signal", "the handler of SIGINT is now another one");
  check_state("block_signal", "the signal mask is now another one for SIGTERM");
}

TEST_CASE("boundary: what a plugin prints goes to stderr, results alone to stdout", "[boundary]") {
  const MisbehavingRun run("print");
  const Outcome got = run.run({"--json"});
  INFO(got.err);
  CHECK(got.code == 0);
  CHECK(quench::test::data_of(got.out).at("records").size() >= 3);
  CHECK_THAT(got.err, Contains("noise by libc\n") && Contains("noise by descriptor\n") &&
                          Contains("noise that stays in a buffer\n"));
}
