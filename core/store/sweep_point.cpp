#include "core/store/sweep_point.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quench {

namespace {

void add_values(const std::string& path, const nlohmann::json& value,
                std::vector<SweepValue>& out) {
  if (!value.is_object() || value.empty()) {
    out.emplace_back(path, value);
    return;
  }
  for (const auto& [name, inner] : value.items()) {
    add_values(path.empty() ? name : fmt::format("{}.{}", path, name), inner, out);
  }
}

// The last `words` words of a dotted path.
std::string ending(const std::string& path, size_t words) {
  size_t from = path.size();
  for (size_t i = 0; i < words && from != std::string::npos && from > 0; ++i) {
    from = path.rfind('.', from - 1);
  }
  return from == std::string::npos || from == 0 ? path : path.substr(from + 1);
}

}  // namespace

std::vector<SweepValue> sweep_values(const nlohmann::json& point) {
  std::vector<SweepValue> out;
  if (point.is_object() && !point.empty()) {
    add_values("", point, out);
  }
  return out;
}

std::vector<std::string> short_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    size_t words = 1;
    const auto is_shared = [&](const std::string& other) {
      return other != path && ending(other, words) == ending(path, words);
    };
    while (ending(path, words) != path && std::any_of(paths.begin(), paths.end(), is_shared)) {
      ++words;
    }
    out.push_back(ending(path, words));
  }
  return out;
}

}  // namespace quench
