#include "core/plugin/json_text.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.hpp"

namespace quench {

using nlohmann::json;

json parse_plugin_json(std::string_view text, const std::string& name) {
  constexpr int kMaxDepth = 64;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kMaxDepth) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: more than {} levels deep", name, kMaxDepth);
    }
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key &&
               !keys.back().insert(value.get<std::string>()).second) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: key \"{}\" is given twice", name,
           printable(value.get<std::string>()));
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& failure) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", name, printable(failure.what()));
  }
}

}  // namespace quench
