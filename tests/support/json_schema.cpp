#include "tests/support/json_schema.hpp"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace quench::test {

std::string schema_complaints(const nlohmann::json& schema, const nlohmann::json& instance) {
  valijson::Schema compiled;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), compiled);
  valijson::Validator validator;
  valijson::ValidationResults results;
  std::string out;
  if (!validator.validate(compiled, valijson::adapters::NlohmannJsonAdapter(instance), &results)) {
    constexpr size_t kEnough = 4000;  // bytes
    valijson::ValidationResults::Error error;
    while (out.size() < kEnough && results.popError(error)) {
      for (const std::string& part : error.context) {
        out += part;
      }
      out += ": " + error.description + "\n";
    }
  }
  return out;
}

}  // namespace quench::test
