#include "core/store/difference.hpp"

#include <set>

#include "core/error.hpp"

namespace quench {

namespace {

using nlohmann::json;

void compare(const json& a, const json& b, const std::string& path, std::vector<Difference>& out) {
  if (a.is_object() && b.is_object()) {
    std::set<std::string> names;
    for (const json* side : {&a, &b}) {
      for (const auto& [name, value] : side->items()) {
        names.insert(name);
      }
    }
    for (const std::string& name : names) {
      const json absent;
      compare(a.contains(name) ? a[name] : absent, b.contains(name) ? b[name] : absent,
              path.empty() ? name : path + "." + name, out);
    }
  } else if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (size_t i = 0; i < a.size(); ++i) {
      compare(a[i], b[i], fmt::format("{}[{}]", path, i), out);
    }
  } else if (a != b || a.is_number_float() != b.is_number_float()) {
    out.push_back({path, a, b});
  }
}

std::string value_text(const json& value) {
  return value.is_null()
             ? "nothing"
             : printable(value.dump(-1, ' ', false, json::error_handler_t::replace), 80);
}

}  // namespace

std::vector<Difference> explain_difference(const json& parts_a, const json& parts_b) {
  std::vector<Difference> out;
  compare(parts_a, parts_b, "", out);
  return out;
}

std::string difference_text(const Difference& difference) {
  return fmt::format("{}: {}, was {}", difference.path, value_text(difference.is),
                     value_text(difference.was));
}

}  // namespace quench
