#include "formats/packed/scheme.hpp"

#include <nlohmann/json.hpp>

namespace quench::formats {

std::string scheme_json(const Scheme& scheme) {
  nlohmann::json out = {
      {"bits", scheme.bits},
      {"group_size", scheme.group_size},
      {"symmetric", scheme.symmetric},
      {"ordered", scheme.ordered},
      {"writer", scheme.writer.empty() ? nlohmann::json() : nlohmann::json(scheme.writer)}};
  if (!scheme.layout.empty()) {
    out["layout"] = scheme.layout;
  }
  return out.dump();
}

}  // namespace quench::formats
