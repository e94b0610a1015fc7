#include "formats/torch_archive/wrapped_names.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "formats/shared/failure.hpp"

namespace quench::formats {

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

bool is_parallel(const std::string* name) {
  return name->starts_with(kParallel) && name->size() > kParallel.size();
}

}  // namespace

void unwrap_names(std::span<std::string* const> names, const std::string& where) {
  bool changed = false;
  for (std::string* name : names) {
    const size_t before = name->size();
    uncompile(*name);
    changed |= name->size() != before;
  }
  while (!names.empty() && std::all_of(names.begin(), names.end(), is_parallel)) {
    for (std::string* name : names) {
      name->erase(0, kParallel.size());
    }
    changed = true;
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string* name : names) {
    if (changed && !seen.insert(*name).second) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: two tensors are called '{}' without \"module.\" and "
           "\"_orig_mod.\"",
           where, printable(*name));
    }
  }
}

}  // namespace quench::formats
