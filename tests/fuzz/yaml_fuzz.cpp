// Whatever the bytes: nodes with places in the text, whose JSON dumps and parses again, or an
// Error.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/config/yaml.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quench::YamlNode node =
        quench::parse_yaml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    const nlohmann::json value = quench::yaml_to_json(node);
    if (quench::parse_json(value.dump(), "again") != value) {
      std::abort();
    }
  } catch (const quench::Error&) {
  }
  return 0;
}
