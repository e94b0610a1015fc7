#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "core/version.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/terminal.hpp"

using quench::ChildProcess;
using quench::test::Outcome;
using quench::test::skip_unless;
using quench::test::Terminal;
using quench::test::Workplace;

namespace {

const Workplace::Arguments kEval = {"eval", "tiny", "--metric",
                                    "validation_loss:text=t.txt,block=16"};

}  // namespace

TEST_CASE("version: goes to stdout with exit code 0", "[cli]") {
  const Outcome got = Workplace().run({"--version"});
  CHECK(got.code == 0);
  CHECK(got.out == std::string("quench ") + quench::kVersion + "\n");
  CHECK(got.err.empty());
}

TEST_CASE("eval: the table goes to stdout, what is being done to stderr", "[cli]") {
  const Workplace here;
  const Outcome got = here.run(kEval);
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("checkpoint"));
  CHECK(got.err == "tiny\n");
}

TEST_CASE("eval: --json prints JSON and nothing else", "[cli]") {
  const Workplace here;
  Workplace::Arguments arguments = kEval;
  arguments.insert(arguments.end(), {"--json", "--quantizer", "template_quantizer:bits=3"});
  const Outcome got = here.run(arguments);
  CHECK(got.code == 0);
  CHECK(got.err.empty());
  const nlohmann::json out = nlohmann::json::parse(got.out);
  REQUIRE(out.at("records").size() == 3);  // float, quantized, error
  CHECK(out["records"][0].at("quantizer").is_null());
  CHECK(out["records"][1].at("quantizer").at("id") == "template_quantizer");
  CHECK(out["records"][2].at("metric") == "quantization_error");
}

TEST_CASE("output: that does not arrive is exit code 1 and one line", "[cli]") {
  const Workplace here;
  Workplace::Arguments json = kEval;
  json.push_back("--json");
  for (const Workplace::Arguments& arguments :
       {Workplace::Arguments{"--version"}, Workplace::Arguments{"plugins", "list"}, json}) {
    CAPTURE(arguments);
    const Outcome full = here.run(arguments, ">/dev/full");
    CHECK(full.code == 1);
    CHECK_THAT(full.err, Catch::StartsWith("standard output: write failed"));
    const Outcome closed = here.run(arguments, ">&-");
    CHECK(closed.code == 1);
    CHECK_THAT(closed.err, Catch::StartsWith("standard output: write failed"));
    CHECK(std::count(closed.err.begin(), closed.err.end(), '\n') == 1);
  }
}

TEST_CASE("output: a closed stderr loses the messages, not the results", "[cli]") {
  const Workplace here;
  const Outcome got = here.run(kEval, "2>&-");
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("checkpoint"));
  CHECK(here.run({"frobnicate"}, "2>&-").code == 2);
}

TEST_CASE("progress: a terminal sees a line with rate and time left", "[cli]") {
  const std::optional<Terminal> terminal = Terminal::open();
  skip_unless(terminal.has_value(), "there is no pseudo-terminal (is /dev/pts mounted?)");
  const Workplace here;
  here.write_long_text();
  const ChildProcess process = terminal->start(
      here.command({"eval", "tiny", "--metric", "validation_loss:text=long.txt,block=1024"}));
  const std::string shown = terminal->read_until(" left", std::chrono::seconds(60));
  CHECK_THAT(shown, Catch::Contains("\r\033[Ktiny: scoring tokens ") && Catch::Contains("/s, "));
}

TEST_CASE("progress: no carriage return where stderr is no terminal", "[cli]") {
  const Workplace here;
  here.write_long_text();
  ChildProcess process =
      here.start({"eval", "tiny", "--metric", "validation_loss:text=long.txt,block=1024"});
  CHECK(here.wait_for_work());
  ::usleep(500'000);
  process.signal(SIGKILL);
  const Outcome got = here.wait(process);
  CHECK_THAT(got.err, Catch::StartsWith("tiny\n"));
  CHECK(got.err.find_first_of("\r\033") == std::string::npos);
}
