#include "core/store/explain.hpp"

#include <set>

namespace quench {

namespace {

void compare(const nlohmann::json& was, const nlohmann::json& is, const std::string& path,
             std::vector<PartDifference>& out) {
  if (was == is) {
    return;
  }
  if (!was.is_object() || !is.is_object()) {
    out.push_back({path, was, is});
    return;
  }
  std::set<std::string> names;
  for (const nlohmann::json* side : {&was, &is}) {
    for (const auto& member : side->items()) {
      names.insert(member.key());
    }
  }
  for (const std::string& name : names) {
    compare(was.value(name, nlohmann::json()), is.value(name, nlohmann::json()),
            path.empty() ? name : path + "." + name, out);
  }
}

}  // namespace

std::vector<PartDifference> explain_difference(const nlohmann::json& was,
                                               const nlohmann::json& is) {
  std::vector<PartDifference> out;
  compare(was, is, "", out);
  return out;
}

}  // namespace quench
