#include "core/checkpoint/wrapped_names.hpp"

#include <algorithm>
#include <string_view>

namespace quench {

namespace {

constexpr std::string_view kParallel = "module.";
constexpr std::string_view kCompiled = "_orig_mod.";

void uncompile(std::string& name) {
  for (size_t at = name.find(kCompiled); at != std::string::npos; at = name.find(kCompiled, at)) {
    if (at == 0 || name[at - 1] == '.') {
      name.erase(at, kCompiled.size());
    } else {
      at += kCompiled.size();
    }
  }
}

}  // namespace

void unwrap_names(std::vector<std::string>& names) {
  std::for_each(names.begin(), names.end(), uncompile);
  const auto parallel = [](const std::string& name) {
    return name.size() > kParallel.size() && name.starts_with(kParallel);
  };
  while (!names.empty() && std::all_of(names.begin(), names.end(), parallel)) {
    for (std::string& name : names) {
      name.erase(0, kParallel.size());
    }
  }
}

}  // namespace quench
