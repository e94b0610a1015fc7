#include "report/export/tracked_lines.hpp"

#include <catch2/catch.hpp>

#include "tests/report/export/tracked_records.hpp"

namespace quench::test {

TEST_CASE("tracked lines: one for each variant of a branch, values by step", "[core][export]") {
  const std::vector<TrackedLine> lines = tracked_lines(tracked_records());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].name == "main/float");
  CHECK(lines[1].name == "main/rtn bits=3");
  REQUIRE(lines[0].points.size() == 2);
  CHECK(lines[0].points[0].tag == "validation_loss block=128");
  CHECK(lines[0].points[0].step == 100);
  CHECK(lines[0].points[1].step == 200);
  REQUIRE(lines[1].points.size() == 4);
  CHECK(lines[1].points[0].tag == "quantization_error/validation_loss block=128");
  CHECK(lines[1].points[3].value == 3.25);
}

TEST_CASE("tracked lines: without steps of training a checkpoint's place stands for it",
          "[core][export]") {
  std::vector<Record> records = tracked_records();
  for (Record& record : records) {
    record.checkpoint["step"] = nullptr;
  }
  const std::vector<TrackedLine> lines = tracked_lines(records);
  CHECK(lines[0].points[0].step == 0);
  CHECK(lines[0].points[1].step == 1);
}

TEST_CASE("tracked lines: failed cells are left out, names keep to their part", "[core][export]") {
  std::vector<Record> records = tracked_records();
  records[0].error = "failed";
  records[0].value = nullptr;
  records[1].checkpoint["branch"] = "decay/a";
  records[1].draw = 2;
  const std::vector<TrackedLine> lines = tracked_lines(records);
  CHECK(lines[0].name == "decay_a/rtn bits=3/draw 2");
  CHECK(lines[1].points.size() == 1);
}

}  // namespace quench::test
