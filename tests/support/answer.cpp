#include "tests/support/answer.hpp"

#include <stdexcept>

#include "tests/support/fixtures.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

nlohmann::json answer_of(const std::string& out) {
  static const auto schema =
      nlohmann::json::parse(read_file(source_dir() / "docs/answer.schema.json"));
  nlohmann::json document = nlohmann::json::parse(out);
  if (const std::string complaints = schema_complaints(schema, document); !complaints.empty()) {
    throw std::runtime_error("not an answer by docs/answer.schema.json:\n" + complaints + out);
  }
  return document;
}

nlohmann::json data_of(const std::string& out) {
  return answer_of(out).at("data");
}

}  // namespace quench::test
