#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tests/faults/write_checks.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using namespace quench::test;

namespace {

using Faults = std::vector<std::string>;

fs::path driver() {
  return binary_dir() / "tests/record_writer";
}

}  // namespace

TEST_CASE("store: names and records are synced in an order that survives a power failure",
          "[faults]") {
  CHECK(check_order(driver()) == Faults{});
}

TEST_CASE("store: damaged, torn and forgotten records do not count", "[faults]") {
  CHECK(check_reading(driver()) == Faults{});
}

TEST_CASE("store: killed at every call that writes, a run goes on and ends the same", "[faults]") {
  CHECK(check_kills(driver()) == Faults{});
}

TEST_CASE("store: every call that fails is told, and the old state stays", "[faults]") {
  CHECK(check_errors(driver()) == Faults{});
}

TEST_CASE("faults: every seeded fault is caught by a test", "[faults]") {
  const fs::path writer = binary_dir() / "tests/mutant_writer";
  const auto passes = [](const std::string& cases) {
    const Ended ended =
        run_program({(binary_dir() / "tests/mutant_tests").string(), cases}, {}, binary_dir());
    CHECK_THAT(ended.out, !Catch::Contains("No test cases matched"));
    return ended.code == 0;
  };
  std::istringstream lines(read_file(binary_dir() / "tests/mutants.txt"));
  std::set<std::string> sound;  // tests that pass without a fault
  size_t mutants = 0;
  for (std::string line; std::getline(lines, line); ++mutants) {
    const std::string name = line.substr(0, line.find('\t'));
    const std::string cases = line.substr(line.find('\t') + 1);
    CAPTURE(name, cases);
    const bool writes = cases == "writes";
    if (sound.insert(cases).second) {
      CHECK((writes ? check_order(writer) == Faults{} : passes(cases)));
    }
    REQUIRE(setenv("QUENCH_MUTANT", name.c_str(), 1) == 0);
    Faults found;
    for (const auto check : {check_order, check_reading, check_errors, check_kills}) {
      if (writes && found.empty()) {
        found = check(writer);
      }
    }
    CHECK((writes ? found != Faults{} : !passes(cases)));
    unsetenv("QUENCH_MUTANT");
  }
  CHECK(mutants >= 30);
}
