#include "core/error.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/bounded.hpp"

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

TEST_CASE("Whatever is thrown is an error with a code", "[error]") {
  const auto of = [](auto thrown) {
    try {
      throw thrown;
    } catch (...) {
      const quench::Error error = quench::current_error();
      return std::to_string(error.code()) + " " + error.what();
    }
  };
  const auto expected = [](quench_status code, const std::string& message) {
    return std::to_string(code) + " " + message;
  };
  CHECK(of(quench::Error(QUENCH_CANCELLED, "stop")) == expected(QUENCH_CANCELLED, "stop"));
  CHECK(of(std::bad_alloc()) == expected(QUENCH_RESOURCE_EXHAUSTED, "no memory left"));
  CHECK(of(std::filesystem::filesystem_error("x", "a/b",
                                             std::make_error_code(std::errc::permission_denied))) ==
        expected(QUENCH_FAILED_PRECONDITION, "a/b: Permission denied"));
  CHECK(of(std::system_error(EAGAIN, std::system_category())) ==
        expected(QUENCH_UNAVAILABLE, "no thread can be started: Resource temporarily unavailable"));
  CHECK(of(std::system_error(EPERM, std::system_category(), "x")) ==
        expected(QUENCH_INTERNAL, "internal error: x: Operation not permitted"));
  CHECK(of(std::out_of_range("far")) == expected(QUENCH_INTERNAL, "internal error: far"));
  CHECK(of(1) == expected(QUENCH_INTERNAL, "internal error: an exception of no known type"));
}

TEST_CASE("What is shown reads as it is", "[error]") {
  using quench::printable;
  CHECK(printable("a\n\x1b[31m\x7f\u0085") == "a\\x0a\\x1b[31m\\x7f\\x85");
  CHECK(printable("\xff\u00e9\u4e2d\U0001f642") == "\\xff\u00e9\u4e2d\U0001f642");
  // Characters that change the direction of what stands around them, or end a line.
  CHECK(printable("rtn\u202etpg\u2066\u2069\u200f\u061c\u2028") ==
        "rtn\\u202etpg\\u2066\\u2069\\u200f\\u061c\\u2028");
  CHECK(printable("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645") ==
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645");  // which Persian words have
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

namespace {

// Optimal string alignment, written as its definition has it.
size_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      d[i][j] = i == 0 ? j : j == 0 ? i : SIZE_MAX;
      if (i > 0 && j > 0) {
        const size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + other});
      }
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

TEST_CASE("nearest: is the first of the least edit distance", "[error]") {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same words each time
  const auto word = [&] {
    std::string out(random() % 12, 'a');
    for (char& letter : out) {
      letter = static_cast<char>('a' + random() % 3);
    }
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    const std::string wrong = word();
    const std::vector<std::string> words = {word(), word(), word(), word()};
    std::string best;
    size_t least = std::max<size_t>(2, wrong.size() / 3) + 1;
    for (const std::string& candidate : words) {
      const size_t far = plain_distance(wrong, candidate);
      if (far < least) {
        least = far;
        best = candidate;
      }
    }
    CAPTURE(wrong, words);
    REQUIRE(quench::nearest(wrong, words) == best);
  }
}

TEST_CASE("nearest: capitals are no difference", "[error]") {
  CHECK(quench::nearest("RTN", {"awq", "rtn"}) == "rtn");
  CHECK(quench::nearest("GPTQ", {"nf4", "gptq", "awq"}) == "gptq");
}

TEST_CASE("nearest: long words and many of them cost no minutes and no gigabytes", "[error]") {
  const std::string long_word(50'000, 'x');
  CHECK(quench::test::message_within(100, [&] {
          quench::nearest(long_word, {std::string(50'000, 'y'), long_word});
        }).empty());
  CHECK(quench::test::message_within(100, [&] {
          const std::vector<std::string> many(200'000, std::string(250, 'y'));
          quench::nearest(std::string(250, 'x') + "y", many);
        }).empty());
}
