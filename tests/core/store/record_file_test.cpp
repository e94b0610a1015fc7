#include "core/store/record_file.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <limits>
#include <sstream>

#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::Record;
using quench::RecordFile;

namespace {

Record record_of(double value) {
  Record record;
  record.checkpoint = {{"model", "m"}, {"revision", nullptr}};
  record.metric = "validation_loss";
  record.value = value;
  record.details["scale"] = quench::json_number(std::numeric_limits<double>::quiet_NaN());
  return record;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream in(quench::test::read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("record file: each line holds the hash of its record and reads back equal", "[store]") {
  const quench::test::TemporaryDir folder;
  const double values[] = {3.25, -0.0, 5e-324, 1.0 / 3, 1.7976931348623157e308};
  RecordFile file(folder.path(), "0");
  for (const double value : values) {
    file.append(record_of(value));
  }
  file.close();
  const auto lines = lines_of(file.path());
  REQUIRE(lines.size() == std::size(values));
  for (size_t i = 0; i < lines.size(); ++i) {
    const nlohmann::json line = quench::parse_json(lines[i], "line");
    const nlohmann::json& record = line.at("record");
    CHECK(line.at("sha256") == quench::sha256_hex(quench::canonical_json(record)));
    const double value = record.at("value").get<double>();
    CHECK(value == values[i]);
    CHECK(std::signbit(value) == std::signbit(values[i]));
    CHECK(record.at("details").at("scale") == "NaN");
  }
}

TEST_CASE("record file: a record that no reader takes is not written", "[store]") {
  const quench::test::TemporaryDir folder;
  RecordFile file(folder.path(), "0");
  file.append(record_of(1));
  Record wrong = record_of(2);
  SECTION("a member of another type") {
    wrong.checkpoint = "model";
  }
  SECTION("an index behind its count") {
    wrong.index = wrong.count;
  }
  CHECK_THROWS_WITH(file.append(wrong), Catch::EndsWith("; the record is not written"));
  file.append(record_of(3));
  CHECK(lines_of(file.path()).size() == 2);
}

TEST_CASE("record file: two attempts of one job write two files", "[store]") {
  const quench::test::TemporaryDir folder;
  RecordFile first(folder.path(), "7");
  RecordFile second(folder.path(), "7");
  CHECK(first.path() != second.path());
  CHECK(first.path().filename().string().rfind("records-7-", 0) == 0);
}

TEST_CASE("record file: a folder that cannot be made is an error that names it", "[store]") {
  const quench::test::TemporaryDir folder;
  folder.write("file", "");
  const std::string message =
      quench::test::message_of([&] { RecordFile(folder / "file/run", "0"); }, folder.path());
  CHECK(message == "file/run: making the folder failed: Not a directory");
}

TEST_CASE("record file: a write that does not fit is an error, not a short record", "[store]") {
  const quench::test::TemporaryDir folder;
  RecordFile file(folder.path(), "0");
  file.append(record_of(1));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = fs::file_size(file.path()) + 10;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message =
      quench::test::message_of([&] { file.append(record_of(2)); }, folder.path());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  CHECK_THAT(message,
             Catch::Contains(file.path().filename().string()) && Catch::Contains("File too large"));
  // The torn line is gone, and nothing is written after it.
  CHECK(lines_of(file.path()).size() == 1);
  CHECK_THAT(quench::test::message_of([&] { file.append(record_of(3)); }),
             Catch::EndsWith("accepts no more records after a failure"));
}
