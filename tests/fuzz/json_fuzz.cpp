// Whatever the bytes: a value that dumps and parses again to itself, or an Error.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto value =
        quench::parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    if (quench::parse_json(value.dump(), "again") != value) {
      std::abort();
    }
  } catch (const quench::Error&) {
  }
  return 0;
}
