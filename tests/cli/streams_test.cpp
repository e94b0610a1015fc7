#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "core/version.hpp"
#include "tests/cli/demo_run.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/terminal.hpp"

using quench::ChildProcess;
using quench::test::Outcome;
using quench::test::skip_unless;
using quench::test::Terminal;
using quench::test::widest_line;
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
  const nlohmann::json out = quench::test::data_of(got.out);
  REQUIRE(out.at("records").size() == 3);  // float, quantized, error
  CHECK(out["records"][0].at("quantizer").is_null());
  CHECK(out["records"][1].at("quantizer").at("id") == "template_quantizer");
  CHECK(out["records"][2].at("metric") == "quantization_error");
}

TEST_CASE("output: that does not arrive is exit code 1 and one line", "[cli]") {
  const Workplace here;
  Workplace::Arguments as_json = kEval;
  as_json.push_back("--json");
  for (const Workplace::Arguments& arguments :
       {Workplace::Arguments{"--version"}, Workplace::Arguments{"plugins", "list"}, as_json}) {
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
  CHECK_THAT(shown, Catch::Contains("\r\033[Ktiny: ") && Catch::Contains(" tokens/s, "));
}

TEST_CASE("progress: the last line is cleared before a run prints its table", "[cli]") {
  const std::optional<Terminal> terminal = Terminal::open();
  skip_unless(terminal.has_value(), "there is no pseudo-terminal (is /dev/pts mounted?)");
  terminal->set_columns(80);
  const Workplace here;
  here.write_long_text();
  const auto manifest = [](int bytes) {
    return "name: m\ncheckpoints: {model: tiny}\n"
           "quantizers: [{template_quantizer: {bits: 3}}]\n"
           "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
           "corpora: {v: {text: {path: long.txt, to: " +
           std::to_string(bytes) + "}}}\n";
  };
  std::string shown;
  for (int bytes = 20'000; shown.find(" tokens/s") == std::string::npos; bytes *= 4) {
    REQUIRE(bytes < 8'000'000);  // a faster machine needs more text until a line is shown
    here.folder().write("m.yaml", manifest(bytes));
    ChildProcess process = terminal->start(here.command({"run", "m.yaml"}));
    shown = terminal->read_until("report: ", std::chrono::seconds(120));
    CHECK(process.wait().code() == 0);
  }
  CAPTURE(shown);
  const size_t table = shown.find("checkpoint  quantizer");
  REQUIRE(table != std::string::npos);
  CHECK(shown.substr(table - 4, 4) == "\r\033[K");
}

TEST_CASE("progress: a terminal that cannot rewrite a line gets lines", "[cli]") {
  const Workplace here;
  const std::optional<Terminal> terminal = Terminal::open();
  skip_unless(terminal.has_value(), "there is no pseudo-terminal (is /dev/pts mounted?)");
  here.folder().write("m.yaml",
                      "name: m\ncheckpoints: {model: tiny}\n"
                      "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  quench::Command command = here.command({"run", "m.yaml"});
  command.environment->push_back("TERM=dumb");
  ChildProcess process = terminal->start(command);
  const std::string shown = terminal->read_until("report: ", std::chrono::seconds(120));
  CHECK(process.wait().code() == 0);
  CHECK_THAT(shown, Catch::Contains("[0/1] tiny") && !Catch::Contains("\033"));
}

TEST_CASE("progress: -q shows none", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml",
                      "name: m\ncheckpoints: {model: tiny}\n"
                      "metrics: [{validation_loss: {corpus: v, block: 16}}]\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  CHECK_THAT(here.run({"run", "m.yaml"}).err, Catch::Contains("[0/1] tiny"));
  const Outcome quiet = here.run({"run", "m.yaml", "-q", "--fresh"});
  CHECK(quiet.code == 0);
  CHECK(quiet.err.empty());
  CHECK_THAT(quiet.out, Catch::StartsWith("checkpoint"));
}

TEST_CASE("messages: errors are red and warnings yellow on a terminal only", "[cli]") {
  const Workplace here;
  const auto shown = [&](const std::vector<std::string>& variables) {
    const std::optional<Terminal> terminal = Terminal::open();
    skip_unless(terminal.has_value(), "there is no pseudo-terminal (is /dev/pts mounted?)");
    quench::Command command = here.command({"frobnicate"});
    command.environment->insert(command.environment->end(), variables.begin(), variables.end());
    ChildProcess process = terminal->start(command, here.folder() / "out");
    CHECK(process.wait().code() == 2);
    return terminal->read_until("\n", std::chrono::seconds(60));
  };
  const std::string coloured =
      shown({"TERM=xterm"});  // an assertion would take the skip for a fault
  CHECK_THAT(coloured,
             Catch::StartsWith("\033[31mquench: no subcommand") && Catch::Contains("\033[0m\r\n"));
  CHECK_THAT(shown({"TERM=xterm", "NO_COLOR="}), Catch::StartsWith("\033[31m"));
  for (const std::vector<std::string>& without :
       {std::vector<std::string>{"TERM=xterm", "NO_COLOR=1"}, {"TERM=dumb"}, {}}) {
    CAPTURE(without);
    CHECK_THAT(shown(without), Catch::StartsWith("quench: no subcommand"));
  }
  quench::test::write_demo_run(here.folder() / "r");
  const std::optional<Terminal> terminal = Terminal::open();
  quench::Command none = here.command({"results", "r", "--where", "step=999"});
  none.environment->push_back("TERM=xterm");
  ChildProcess warned = terminal->start(none, here.folder() / "out");
  CHECK(warned.wait().code() == 0);
  CHECK_THAT(terminal->read_until("\n", std::chrono::seconds(60)),
             Catch::StartsWith("\033[33m--where"));
  quench::Command piped = here.command({"frobnicate"});
  piped.environment->push_back("TERM=xterm");
  ChildProcess process = ChildProcess::start(piped);
  CHECK_THAT(here.wait(process).err, Catch::StartsWith("quench: no subcommand"));
}

TEST_CASE("progress: no line wraps, however narrow the terminal is", "[cli]") {
  const Workplace here;
  here.folder().write("long.txt", std::string(40'000, 'a'));
  for (const unsigned short columns : {40, 80, 200}) {
    CAPTURE(columns);
    const std::optional<Terminal> terminal = Terminal::open();
    skip_unless(terminal.has_value(), "there is no pseudo-terminal (is /dev/pts mounted?)");
    terminal->set_columns(columns);
    ChildProcess process = terminal->start(
        here.command({"eval", "tiny", "--metric", "validation_loss:text=long.txt,block=1024",
                      "--quantizer", "template_quantizer:bits=3", "--quantizer",
                      "template_quantizer:bits=8"}),
        here.folder() / "out");
    const std::string shown = terminal->read_until("\004", std::chrono::seconds(60));
    CHECK(process.wait().code() == 0);
    CHECK_THAT(shown, Catch::Contains("tokens/s") || Catch::Contains(" %"));
    size_t column = 0;
    size_t widest = 0;
    for (size_t i = 0; i < shown.size(); ++i) {
      if (shown.compare(i, 3, "\033[K") == 0) {
        i += 2;
      } else if (shown[i] == '\r' || shown[i] == '\n') {
        column = 0;
      } else {
        widest = std::max(widest, ++column);
      }
    }
    CHECK(widest < columns);
  }
}

namespace {

// All numbers of a text, in order.
std::vector<std::string> numbers_of(const std::string& text) {
  const std::regex number("[0-9]+(\\.[0-9]+)?");
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    out.push_back(it->str());
  }
  return out;
}

}  // namespace

TEST_CASE("tables: fit a terminal of any width with every number whole, and a pipe gets all",
          "[cli]") {
  const Workplace here;
  here.folder().write("long.yaml",
                      "name: a_study_with_a_name\n"
                      "checkpoints: {model: tiny}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: [2, 3, 4]}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "calibration: {lines: {corpus: v, sequences: 4, length: 16}}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  REQUIRE(
      here.run({"run", "long.yaml", "--set", "quantizers.0.template_quantizer.bits=[2,3]"}).code ==
      0);
  for (const Workplace::Arguments& arguments :
       {Workplace::Arguments{"plan", "long.yaml"},
        {"results", "runs/a_study_with_a_name"},
        {"status", "runs/a_study_with_a_name"},
        {"plugins", "list"},
        {"doctor"},
        {"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16", "--quantizer",
         "template_quantizer:bits=3", "-q"}}) {
    CAPTURE(arguments);
    const Outcome piped = here.run(arguments);
    const std::vector<std::string> all = numbers_of(piped.out);
    const std::set<std::string> numbers(all.begin(), all.end());
    for (const unsigned short columns : {40, 80, 200}) {
      CAPTURE(columns);
      const std::optional<Terminal> terminal = Terminal::open();
      skip_unless(terminal.has_value(), "there is no pseudo-terminal (is /dev/pts mounted?)");
      terminal->set_columns(columns);
      ChildProcess process = terminal->start(here.command(arguments));
      const std::string shown = terminal->read_until("\004", std::chrono::seconds(60));
      CHECK(process.wait().code() == piped.code);
      CAPTURE(shown);
      CHECK_FALSE(shown.empty());
      CHECK(widest_line(shown) < columns);
      if (arguments[0] == "results" || arguments[0] == "plan") {
        for (const std::string& number : numbers_of(shown)) {
          CAPTURE(number);
          CHECK(numbers.contains(number));  // a number that is cut is another number
        }
      }
    }
  }
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
