#include <catch2/catch.hpp>
#include <sstream>

#include "tests/faults/write_checks.hpp"
#include "tests/support/fixtures.hpp"

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

TEST_CASE("store: every mutant is caught", "[faults]") {
  std::istringstream names(QUENCH_MUTANTS);
  size_t mutants = 0;
  for (std::string name; names >> name; ++mutants) {
    const fs::path mutant = binary_dir() / "tests/mutants" / name;
    Faults found;
    for (const auto check : {check_order, check_reading, check_errors, check_kills}) {
      if (found.empty()) {
        found = check(mutant);
      }
    }
    INFO(name);
    CHECK(found != Faults{});
  }
  CHECK(mutants >= 10);
}
