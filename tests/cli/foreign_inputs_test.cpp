// What plugins from elsewhere read: through the host, seen by it, or by themselves.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;
namespace fs = std::filesystem;

namespace {

void write_metric(const Workplace& here, const std::string& metric) {
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n"
                      "  - " +
                          metric + "\n");
}

Outcome run_foreign(const Workplace& here, const fs::path& plugins,
                    Workplace::Arguments more = {}) {
  Workplace::Arguments arguments = {"run", "m.yaml", "--plugin-path", plugins.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return here.run(arguments);
}

fs::path native_plugins() {
  return quench::test::binary_dir() / "tests/boundary/input_metric";
}

json last_record(const Workplace& here, const std::string& run = "runs/m") {
  json last;  // attempts are counted
  std::string of;
  for (const fs::directory_entry& entry : fs::directory_iterator(here.folder() / run)) {
    const std::string name = entry.path().filename().string();
    if (quench::test::holds_records(entry.path()) && name > of) {
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        last = json::parse(line).at("record");
        of = name;
      }
    }
  }
  return last;
}

void need_numpy() {
  quench::test::skip_unless(quench::test::run_shell("/usr/bin/python3 -c 'import numpy'").code == 0,
                            "/usr/bin/python3 has no numpy");
}

// The number in one file that it names, and in one that it does not.
const std::string kInPython =
    "import os\n"
    "import quench\n\n"
    "@quench.metric(unit='1', direction=quench.NO_DIRECTION)\n"
    "def number_in_python(model):\n"
    "    with open(os.path.join(os.path.dirname(__file__), 'number.txt')) as file:\n"
    "        return float(file.read())\n";

}  // namespace

TEST_CASE("inputs: a file that a parameter names and the host opens is in the key by content",
          "[cli]") {
  const Workplace here{Page::kNone};
  here.folder().write("n.txt", "1\n");
  write_metric(here, "held_number: {file: n.txt}");
  const Outcome first = run_foreign(here, native_plugins());
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json one = last_record(here);
  CHECK(one.at("value") == 1.0);
  CHECK(one.at("parts").at("metric").at("inputs").at("file").get<std::string>().size() == 64);
  CHECK_FALSE(one.at("details").contains("inputs"));
  CHECK_FALSE(one.at("parts").at("metric").contains("read"));

  CHECK_THAT(run_foreign(here, native_plugins()).out, Contains("0 of them new"));
  here.folder().write("n.txt", "2\n");
  REQUIRE(run_foreign(here, native_plugins()).code == 0);
  const json two = last_record(here);
  CHECK(two.at("value") == 2.0);
  CHECK(two.at("key") != one.at("key"));
}

TEST_CASE("inputs: a file that no parameter names is in the record's key, too", "[cli]") {
  const Workplace here{Page::kNone};
  here.folder().write("n.txt", "1\n");
  here.folder().write("o.txt", "10\n");
  const std::string other = fs::canonical(here.folder() / "o.txt").string();
  write_metric(here, "held_number: {file: n.txt, other: \"" + other + "\"}");
  const Outcome first = run_foreign(here, native_plugins());
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json one = last_record(here);
  CHECK(one.at("value") == 11.0);
  REQUIRE(one.at("parts").at("metric").contains("read"));
  CHECK(one.at("parts").at("metric").at("read").at("files").size() == 1);
  CHECK(one.at("parts").at("metric").at("read").at("files").contains(other));

  SECTION("and the record is used again while it is unchanged") {
    CHECK_THAT(run_foreign(here, native_plugins()).out, Contains("0 of them new"));
    REQUIRE(run_foreign(here, native_plugins(), {"--out", "runs/other"}).code == 0);
    CHECK(last_record(here, "runs/other").at("cached").is_string());
  }
  SECTION("and not when it has changed") {
    here.folder().write("o.txt", "20\n");
    const Outcome plan = here.run({"plan", "m.yaml", "--plugin-path", native_plugins().string()});
    CHECK_THAT(plan.out, Contains("metric.read"));
    REQUIRE(run_foreign(here, native_plugins()).code == 0);
    CHECK(last_record(here).at("value") == 21.0);
    const Outcome verified = here.run({"verify", "runs/m"});
    CHECK(verified.code == 0);
    here.folder().write("o.txt", "30\n");
    const Outcome inputs =
        here.run({"verify", "runs/m", "--inputs", "--plugin-path", native_plugins().string()});
    INFO(inputs.out + inputs.err);
    CHECK(inputs.code == 1);
  }
}

TEST_CASE("inputs: a plugin that opens a parameter's file itself is marked and not shared",
          "[cli]") {
  const Workplace here{Page::kNone};
  here.folder().write("n.txt", "1\n");
  write_metric(here, "own_number: {file: n.txt}");
  const Outcome first = run_foreign(here, native_plugins());
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.err, Contains("metric own_number") && Contains("inputs: unchecked"));
  CHECK(last_record(here).at("details").at("inputs") == "unchecked");
  CHECK_THAT(
      here.run({"verify", "runs/m", "--inputs", "--plugin-path", native_plugins().string()}).out,
      Contains("a plugin opened its files by itself (inputs: unchecked)"));
  CHECK_THAT(here.run({"results", "runs/m"}).err,
             Contains("runs/m: 1 value has `inputs: unchecked`: a plugin opened its files by "
                      "itself, so no key holds what was read"));
  CHECK_THAT(run_foreign(here, native_plugins()).out, Contains("0 of them new"));
  REQUIRE(run_foreign(here, native_plugins(), {"--out", "runs/other"}).code == 0);
  CHECK(last_record(here, "runs/other").at("cached").is_null());
}

TEST_CASE("inputs: a file that a parameter names and that is not there is told before any work",
          "[cli]") {
  const Workplace here(Page::kNone);
  write_metric(here, "held_number: {file: n.txt}");
  const std::string path = fs::canonical(here.folder().path()).string() + "/n.txt";
  for (const char* verb : {"plan", "run"}) {
    const Outcome got = here.run({verb, "m.yaml", "--plugin-path", native_plugins().string()});
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Catch::StartsWith("m.yaml:4:") &&
                            Contains("metric held_number: file: " + path + " does not exist"));
  }
  CHECK_FALSE(fs::exists(here.folder() / "runs"));
}

TEST_CASE("inputs: a corpus that opens its file itself marks the cells that it is read for",
          "[cli]") {
  const Workplace here{Page::kNone};
  // The corpus that came with the program, as one that did not.
  fs::create_directories(here.folder() / "plugins/corpora");
  fs::copy_file(quench::test::binary_dir() / "lib/quench/corpora/text.so",
                here.folder() / "plugins/corpora/text.so");
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  for (int twice = 0; twice < 2; ++twice) {  // the tokens are not taken from a cache either
    const Outcome ran = run_foreign(here, here.folder() / "plugins", {"--fresh"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.err, Contains("corpus text") && Contains("inputs: unchecked"));
    CHECK(last_record(here).at("details").at("inputs") == "unchecked");
  }
}

TEST_CASE("inputs: of a file in Python what it opens by itself is in the record's key", "[cli]") {
  need_numpy();
  const Workplace here;
  here.folder().write("plugins/number.py", kInPython);
  here.folder().write("plugins/number.txt", "1\n");
  const fs::path plugins = here.folder() / "plugins";
  write_metric(here, "number_in_python: {}");
  const Outcome first = run_foreign(here, plugins);
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json one = last_record(here);
  CHECK(one.at("value") == 1.0);
  INFO(one.at("parts").at("metric").dump(2));
  REQUIRE(one.at("parts").at("metric").contains("read"));
  const json read = one.at("parts").at("metric").at("read");
  CHECK(read.size() == 1);
  CHECK(read.at("files").size() == 1);
  CHECK(read.at("files").contains(fs::canonical(plugins / "number.txt").string()));
  CHECK_THAT(run_foreign(here, plugins).out, Contains("0 of them new"));

  here.folder().write("plugins/number.txt", "2\n");
  REQUIRE(run_foreign(here, plugins).code == 0);
  CHECK(last_record(here).at("value") == 2.0);
  here.folder().write("plugins/number.txt", "1\n");
  REQUIRE(run_foreign(here, plugins, {"--out", "runs/other"}).code == 0);
  CHECK(last_record(here, "runs/other").at("cached").is_string());
}

TEST_CASE("inputs: of a file in Python the variables that it asks for are in the key", "[cli]") {
  need_numpy();
  const Workplace here;
  here.folder().write("plugins/number.py",
                      "import os\nimport quench\n\n"
                      "@quench.metric(unit='1', direction=quench.NO_DIRECTION)\n"
                      "def number_in_python(model):\n"
                      "    return float(os.environ['QUENCH_NUMBER'])\n");
  write_metric(here, "number_in_python: {}");
  const auto value_with = [&](const std::string& number) {
    quench::Command command = here.command({"run", "m.yaml", "--plugin-path", "plugins"});
    for (const char* name : {"QUENCH_NUMBER=", "QUENCH_OTHER="}) {
      command.environment->push_back(name + number);
    }
    quench::ChildProcess process = quench::ChildProcess::start(std::move(command));
    const Outcome got = here.wait(process);
    INFO(got.err);
    CHECK(got.code == 0);
    return last_record(here);
  };
  const json one = value_with("1");
  CHECK(one.at("value") == 1.0);
  CHECK(one.at("parts").at("metric").at("read").at("variables").size() == 1);
  CHECK(value_with("2").at("value") == 2.0);
  CHECK(value_with("1").at("key") == one.at("key"));
}

TEST_CASE("inputs: of a file in Python what it declares is in the key", "[cli]") {
  need_numpy();
  const Workplace here;
  std::string declares = kInPython;
  declares.replace(declares.find("unit='1'"), 8, "unit='1', reads=['number.txt']");
  here.folder().write("plugins/number.py", declares);
  const fs::path plugins = here.folder() / "plugins";
  write_metric(here, "number_in_python: {}");
  const Outcome missing = run_foreign(here, plugins);
  CHECK(missing.code != 0);
  CHECK_THAT(missing.err + missing.out, Contains("number.txt, which is no file"));

  here.folder().write("plugins/number.txt", "1\n");
  const Outcome first = run_foreign(here, plugins);
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json one = last_record(here);
  CHECK(one.at("value") == 1.0);
  CHECK(one.at("parts").at("metric").at("code").at("beside").contains("number.txt"));
  CHECK_FALSE(one.at("parts").at("metric").contains("read"));
  here.folder().write("plugins/number.txt", "2\n");
  REQUIRE(run_foreign(here, plugins).code == 0);
  CHECK(last_record(here).at("value") == 2.0);
}
