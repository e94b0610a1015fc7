// What the program says of itself: --help, the manual page and completion come from one source.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "core/version.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/terminal.hpp"

using Catch::Matchers::Contains;
using quench::test::Outcome;
using quench::test::run_shell;
using quench::test::Workplace;

namespace {

const std::vector<std::string> kVerbs = {
    "init",     "import",  "fetch",  "plan",    "run",      "submit",    "status", "why",
    "adopt",    "results", "report", "diff",    "merge",    "verify",    "forget", "export",
    "watch",    "eval",    "gate",   "compare", "quantize", "average",   "layer",  "logits",
    "tokenize", "plugins", "doctor", "schema",  "clean",    "completion"};

}  // namespace

TEST_CASE("help: verbs in groups, exit codes and environment below", "[cli]") {
  const Outcome got = Workplace().run({"--help"});
  CHECK(got.code == 0);
  size_t at = 0;
  for (const char* heading :
       {"Experiments:", "Results:", "One model:", "Installation:", "Exit codes:", "Environment:"}) {
    CAPTURE(heading);
    const size_t found = got.out.find(heading);
    REQUIRE(found != std::string::npos);
    CHECK(found > at);
    at = found;
  }
  CHECK(Workplace().run({"-V"}).out == std::string("quench ") + quench::kVersion + "\n");
}

TEST_CASE("help: every verb has an example, and `help VERB` says what `VERB --help` does",
          "[cli]") {
  const Workplace here;
  for (const std::string& verb : kVerbs) {
    CAPTURE(verb);
    const Outcome got = here.run({verb, "--help"});
    CHECK(got.code == 0);
    CHECK_THAT(got.out, Contains("Examples:\n  ") && Contains("quench " + verb));
    CHECK(here.run({"help", verb}).out == got.out);
  }
  CHECK(here.run({"help"}).out == here.run({"--help"}).out);
}

TEST_CASE("help: `quench` alone says what there is, and is no success", "[cli]") {
  const Workplace here;
  const Outcome got = here.run({});
  CHECK(got.code == 2);
  CHECK(got.out == here.run({"--help"}).out);
  CHECK(got.err.empty());
}

TEST_CASE("help: options of plugins stand below all others", "[cli]") {
  const Workplace here;
  for (const char* verb : {"eval", "run", "plan", "submit", "doctor"}) {
    CAPTURE(verb);
    const std::string help = here.run({verb, "--help"}).out;
    const size_t heading = help.find("\nPlugins from elsewhere:\n");
    REQUIRE(heading != std::string::npos);
    for (const char* option : {"--json", "--threads", "--quiet"}) {
      const size_t at = help.find(option);
      CHECK((at == std::string::npos || at < heading));
    }
    for (const char* option : {"--plugin-path", "--sandbox", "--worker-memory"}) {
      CHECK(help.find(option) > heading);
    }
  }
}

TEST_CASE("manual page: every verb and what --help says of it, in roff that is understood",
          "[cli]") {
  const Workplace here;
  const Outcome page = here.run({"completion", "man"});
  CHECK(page.code == 0);
  for (const std::string& verb : kVerbs) {
    CHECK_THAT(page.out, Contains("\n.SS quench " + verb + "\n"));
  }
  CHECK_THAT(page.out, Contains(".SH EXIT CODES") && Contains(".SH ENVIRONMENT"));
  if (quench::test::has_program("man")) {
    here.folder().write("quench.1", page.out);
    const std::string file = here.folder() / "quench.1";
    CHECK(run_shell("man --warnings -l '" + file + "' 2>&1 >/dev/null").out.empty());
  }
}

TEST_CASE("completion: bash completes verbs, then a verb's own options", "[cli]") {
  const Workplace here;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = here.run({"completion", shell});
    CHECK(script.code == 0);
    here.folder().write(shell, script.out);
    for (const std::string& verb : kVerbs) {
      CHECK_THAT(script.out, Contains(verb));
    }
  }
  const std::string script = here.folder() / "bash";
  // An empty folder: names of files there are completions too.
  const std::string elsewhere = here.folder() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  const auto complete = [&](const std::string& words, int at) {
    return run_shell("bash -c 'cd " + elsewhere + "; source " + script + "; COMP_WORDS=(" + words +
                     "); COMP_CWORD=" + std::to_string(at) +
                     "; _quench; printf \"%s\\n\" \"${COMPREPLY[@]}\"'")
        .out;
  };
  CHECK(complete("quench qua", 1) == "quantize\n");
  CHECK(complete("quench run --retr", 2) == "--retry\n");
  CHECK(complete("quench plugins che", 2) == "check\n");
}

TEST_CASE("output: a reader that has seen enough ends the command quietly", "[cli]") {
  const Workplace here;
  std::string command;
  for (const std::string& word : quench::test::program_environment()) {
    command += "'" + word + "' ";
  }
  const Outcome got =
      run_shell("bash -c \"set -o pipefail; env " + command + quench::test::program_path() +
                " plugins markdown | head -n 1\" 2>&1");
  CHECK(got.code == 0);
  CHECK(std::count(got.out.begin(), got.out.end(), '\n') == 1);
}

TEST_CASE("help: explanations and errors fit the terminal", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml", "checkpoints: {model: tiny, revisions: [a b}\n");
  const Workplace::Arguments shown[] = {
      {"--help"}, {"help", "run"}, {"plugins", "show", "template_quantizer"}, {"plan", "m.yaml"}};
  for (const unsigned short columns : {60, 80}) {
    for (const Workplace::Arguments& arguments : shown) {
      CAPTURE(columns, arguments);
      const std::optional<quench::test::Terminal> terminal = quench::test::Terminal::open();
      quench::test::skip_unless(terminal.has_value(),
                                "there is no pseudo-terminal (is /dev/pts mounted?)");
      terminal->set_columns(columns);
      quench::ChildProcess process = terminal->start(here.command(arguments));
      std::istringstream lines(terminal->read_until("\004", std::chrono::seconds(60)));
      process.wait();
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        // A path or a hash that is longer than a line is not cut.
        const size_t word = std::min(line.find_first_not_of(' '), line.size());
        const bool is_long_word =
            line.find(" /") != std::string::npos || line.find(' ', word) == std::string::npos;
        CHECK((is_long_word || quench::test::widest_line(line) < columns));
      }
    }
  }
}
