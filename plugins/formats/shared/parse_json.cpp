#include "formats/shared/parse_json.hpp"

#include "formats/shared/failure.hpp"
#include "quench/kit/json.hpp"

namespace quench::formats {

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  try {
    const kit::Json checked(text.data(), text.size());
    return nlohmann::json::parse(text);
  } catch (const std::exception& failure) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", where, failure.what());
  }
}

}  // namespace quench::formats
