#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/demo_run.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::read_file;
using quench::test::Workplace;

TEST_CASE("report: writes the page into the run's folder and says where", "[cli]") {
  const Workplace here;
  quench::test::write_demo_run(here.folder() / "runs/demo");
  for (const char* run : {"demo", "runs/demo", "runs/demo/"}) {
    CAPTURE(run);
    fs::remove(here.folder() / "runs/demo/report.html");
    const Outcome got = here.run({"report", run});
    CHECK(got.code == 0);
    CHECK(got.err.empty());
    CHECK_THAT(got.out, Catch::Contains("report.html\n"));
    const std::string page = read_file(here.folder() / "runs/demo/report.html");
    CHECK_THAT(page, Catch::StartsWith("<!doctype html>") && Catch::Contains("<h1>demo</h1>"));
  }
}

TEST_CASE("report: the commands in the captions of a page run when they are pasted", "[cli]") {
  const Workplace here;
  for (const char* folder : {"runs/demo", "else where/demo"}) {
    CAPTURE(folder);
    quench::test::write_demo_run(here.folder() / folder);
    REQUIRE(here.run({"report", folder}).code == 0);
    const std::string page = read_file(here.folder() / folder / "report.html");
    const std::regex code("<code>quench (report [^<]*)</code>");
    size_t commands = 0;
    for (std::sregex_iterator it(page.begin(), page.end(), code), end; it != end; ++it) {
      std::string words = (*it)[1];
      for (size_t at = words.find("&#39;"); at != std::string::npos; at = words.find("&#39;")) {
        words.replace(at, 5, "'");
      }
      CAPTURE(words);
      const auto got = quench::test::run_shell("cd '" + here.folder().path().string() + "' && '" +
                                               quench::test::program_path() + "' " + words);
      INFO(got.out);
      CHECK(got.code == 0);
      ++commands;
    }
    CHECK(commands == 4);  // a figure each
    CHECK(fs::exists(here.folder() / folder / "figures/loss_plane.csv"));
  }
}

TEST_CASE("report: csv of one figure goes where it is told", "[cli]") {
  const Workplace here;
  quench::test::write_demo_run(here.folder() / "r");
  const Outcome got =
      here.run({"report", "r", "--format", "csv", "--figure", "loss_plane", "-o", "drawn"});
  CHECK(got.code == 0);
  CHECK(got.out == "drawn/loss_plane.csv\n");
  CHECK_THAT(read_file(here.folder() / "drawn/loss_plane.csv"),
             Catch::StartsWith("panel,trace,x,y"));
  CHECK_FALSE(fs::exists(here.folder() / "drawn/bars.csv"));
  CHECK(here.run({"report", "r", "--format", "csv"}).code == 0);
  CHECK(fs::exists(here.folder() / "r/figures/table.csv"));
}

TEST_CASE("report: --json prints contrasts with their spreads", "[cli]") {
  const Workplace here;
  quench::test::write_demo_run(here.folder() / "r");
  const Outcome got = here.run({"report", "r", "--json"});
  CHECK(got.code == 0);
  const nlohmann::json report = quench::test::data_of(got.out);
  CHECK(report.at("name") == "r");
  REQUIRE(report.at("contrasts").size() == 2);
  CHECK(report.at("contrasts")[0].at("a") == "gptq");
  CHECK(report.at("contrasts")[0].at("rows")[0].at("spreads").size() == 3);
  CHECK_FALSE(fs::exists(here.folder() / "r/report.html"));
}

TEST_CASE("report: what is not there is told", "[cli]") {
  const Workplace here;
  fs::create_directory(here.folder() / "empty");
  quench::test::write_demo_run(here.folder() / "r");
  const Outcome none = here.run({"report", "no"});
  CHECK(none.code == 2);
  CHECK(none.err == "no: no such run, and no runs/no either\n");
  const Outcome empty = here.run({"report", "empty"});
  CHECK(empty.code == 1);
  CHECK(empty.err == "empty: has no records to report\n");
  const Outcome figure = here.run({"report", "r", "--format", "csv", "--figure", "loss_plain"});
  CHECK(figure.code == 2);
  CHECK(figure.err ==
        "--figure loss_plain: there is none of that name; did you mean loss_plane?\n");
  for (const Workplace::Arguments& whole :
       {Workplace::Arguments{"report", "r"}, Workplace::Arguments{"report", "r", "--json"}}) {
    Workplace::Arguments one = whole;
    one.insert(one.end(), {"--figure", "loss_plane"});
    const Outcome got = here.run(one);
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Catch::StartsWith("--figure loss_plane: ") &&
                            Catch::EndsWith("wanted --format pdf, svg, png or csv with it\n"));
  }
  const Outcome watched = here.run({"report", "r", "--watch", "--format", "svg"});
  CHECK(watched.code == 2);
  CHECK(watched.err == "--watch: got --format svg, wanted the page alone\n");
  const Outcome format = here.run({"report", "r", "--format", "gif"});
  CHECK(format.code == 2);
}
