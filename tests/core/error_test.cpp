#include "core/error.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

using quench::guarded;
using quench::report_error;

TEST_CASE("What a plugin's call of the host throws becomes its error record", "[error]") {
  quench_error error{sizeof error, 0, {}};
  CHECK(guarded(&error, [] {}) == QUENCH_OK);
  CHECK(guarded(&error, [] { quench::fail(QUENCH_NOT_FOUND, "no {}", "x"); }) == QUENCH_NOT_FOUND);
  CHECK(error.code == QUENCH_NOT_FOUND);
  CHECK(std::string(error.message) == "no x");
  CHECK(guarded(&error, [] { throw std::bad_alloc(); }) == QUENCH_RESOURCE_EXHAUSTED);
  CHECK(std::string(error.message) == "no memory left");
  CHECK(guarded(&error, [] { throw std::out_of_range("far"); }) == QUENCH_INTERNAL);
  CHECK(std::string(error.message) == "far");
  CHECK(guarded(&error, [] { throw 1; }) == QUENCH_INTERNAL);
  CHECK(std::string(error.message) == "unknown exception");
}

TEST_CASE("A long message is cut between two characters", "[error]") {
  quench_error error{sizeof error, 0, {}};
  std::string message(sizeof error.message - 2, 'a');
  message += "\u00e9\u00e9";
  CHECK(report_error(&error, QUENCH_DATA_LOSS, message) == QUENCH_DATA_LOSS);
  CHECK(std::string(error.message) == std::string(sizeof error.message - 2, 'a'));
}

TEST_CASE("An error record that is missing or too small is left alone", "[error]") {
  CHECK(report_error(nullptr, QUENCH_DATA_LOSS, "x") == QUENCH_DATA_LOSS);
  quench_error error{sizeof error - 1, 0, {}};
  CHECK(report_error(&error, QUENCH_DATA_LOSS, "x") == QUENCH_DATA_LOSS);
  CHECK(error.code == 0);
  CHECK(std::strlen(error.message) == 0);
}
