#include <catch2/catch.hpp>
#include <sstream>

#include "cli/terminal_text.hpp"

using quench::columns_of;
using quench::folded;
using quench::folded_help;
using quench::progress_line;
using quench::ProgressState;

namespace {

ProgressState scoring() {
  ProgressState state;
  state.cells_done = 3;
  state.cells_total = 40;
  state.step = "step600, gptq bits=3";
  state.work = "scoring tokens";
  state.done = 45;
  state.total = 100;
  state.rate = 1250;
  state.run_left = 240;
  return state;
}

}  // namespace

TEST_CASE("progress line: what is done, how fast, how long still", "[cli]") {
  CHECK(progress_line(scoring(), 200) ==
        "[3/40] step600, gptq bits=3: 45 % [#########...........], 1.2k tokens/s, < 0.1 s left; "
        "whole run 4 min 00 s left");
  ProgressState slow = scoring();
  slow.cells_total = 0;
  slow.rate = 0.5;
  slow.run_left.reset();
  CHECK(progress_line(slow, 200) ==
        "step600, gptq bits=3: 45 % [#########...........], 0.5 tokens/s, 1 min 50 s left");
}

TEST_CASE("progress line: a narrow terminal loses the least important first", "[cli]") {
  CHECK(progress_line(scoring(), 90) ==
        "[3/40] step600, gptq bits=3: 45 % [#########...........], 1.2k tokens/s, < 0.1 s left");
  CHECK(progress_line(scoring(), 65) ==
        "[3/40] step600, gptq bits=3: 45 %, 1.2k tokens/s, < 0.1 s left");
  CHECK(progress_line(scoring(), 50) == "[3/40] step600, gptq bits=3: 45 %, < 0.1 s left");
  CHECK(progress_line(scoring(), 40) == "[3/40] step600, gptq bits=3: 45 %");
  CHECK(progress_line(scoring(), 30) == "[3/40] step600, gptq...: 45 %");
  CHECK(progress_line(scoring(), 20) == "[3/40] step600, g...");
}

TEST_CASE("progress line: never wider than the terminal, whatever it says", "[cli]") {
  for (size_t columns = 1; columns < 160; ++columns) {
    for (const std::string& step : {std::string(), std::string("tiny"), std::string(300, 'x'),
                                    std::string("ein Modell über Bücher, gptq bits=3, Größe ±4")}) {
      ProgressState state = scoring();
      state.step = step;
      CAPTURE(columns, step, progress_line(state, columns));
      CHECK(columns_of(progress_line(state, columns)) <= columns);
      state.total = 0;
      CHECK(columns_of(progress_line(state, columns)) <= columns);
    }
  }
}

TEST_CASE("progress line: counts have three digits at most, and a unit's letter", "[cli]") {
  ProgressState state = scoring();
  for (const auto& [rate, shown] :
       {std::pair(0.034, "0.034 "), std::pair(9.94, "9.9 "), std::pair(9.96, "10 "),
        std::pair(999.4, "999 "), std::pair(999.6, "1k "), std::pair(35.2e6, "35M ")}) {
    state.rate = rate;
    CHECK_THAT(progress_line(state, 200), Catch::Contains(std::string(", ") + shown + "tokens/s"));
  }
}

TEST_CASE("folded: words stay whole, what is longer than a line does not", "[cli]") {
  CHECK(folded("short", 40) == "short");
  CHECK(folded("one two three", 9) == "one two\n  three");
  CHECK(folded("no room for it", 11) == "no room for\n  it");
  CHECK(folded("hub         a cache", 15, 12) == "hub         a\n            cac\n            he");
  CHECK(folded("  so  many spaces", 12) == "  so  many\n  spaces");
  CHECK(folded("a path/that/is/too/long", 10) == "a\n  path/tha\n  t/is/too\n  /long");
  CHECK(folded("a path/that/is/too/long here", 10, 2, quench::LongWord::kUncut) ==
        "a\n  path/that/is/too/long\n  here");
  const std::string text = "warning: of 12 groups of experts, 3 were reached by fewer rows";
  for (size_t columns = 4; columns < 80; ++columns) {
    std::istringstream lines(folded(text, columns));
    for (std::string line; std::getline(lines, line);) {
      CHECK(columns_of(line) <= columns);
    }
  }
}

TEST_CASE("folded help: an explanation goes on where it began", "[cli]") {
  const std::string help =
      "Usage: quench run [OPTIONS] MANIFEST\n"
      "\n"
      "  -o,--out FOLDER             Where records go and all else that is written\n"
      "                              Another long explanation, without an option\n";
  CHECK(folded_help(help, 80) == help);
  CHECK(folded_help(help, 55) ==
        "Usage: quench run [OPTIONS] MANIFEST\n"
        "\n"
        "  -o,--out FOLDER             Where records go and all\n"
        "                              else that is written\n"
        "                              Another long explanation,\n"
        "                              without an option\n");
  CHECK(folded_help("  -o,--out FOLDER             Where records go", 40) ==
        "  -o,--out FOLDER             Where\n      records go");
  CHECK(folded_help("a summary that ends in blanks  ", 21) == "a summary that ends\nin blanks ");
}
