// docs/records.md against the table in the code.
#include <catch2/catch.hpp>

#include "core/store/record_schema.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

using quench::FieldType;

namespace {

std::string type_text(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return "text";
    case FieldType::kTextOrNull:
      return "text or null";
    case FieldType::kCount:
    case FieldType::kInteger:
      return "integer";
    case FieldType::kCountOrNull:
      return "integer or null";
    case FieldType::kNumber:
      return "number";
    case FieldType::kNumberOrNull:
      return "number or null";
    case FieldType::kNumbers:
      return "list of numbers";
    case FieldType::kObject:
      return "object";
    case FieldType::kObjectOrNull:
      return "object or null";
  }
  return "";
}

}  // namespace

TEST_CASE("docs/records.md: has every field as the code has it", "[store]") {
  const std::string text = quench::test::read_file(quench::test::source_dir() / "docs/records.md");
  for (const quench::RecordField& field : quench::record_fields()) {
    const std::string row = "| `" + std::string(field.name) + "` | " + type_text(field.type) +
                            " | " + (field.compared ? "yes" : "no") + " | ";
    CHECK_THAT(text, Catch::Contains(row));
  }
  CHECK_THAT(
      text, Catch::Contains("version " + std::to_string(quench::kRecordSchema) + " of the schema"));
}
