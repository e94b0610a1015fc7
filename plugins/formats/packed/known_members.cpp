#include "formats/packed/known_members.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "formats/shared/failure.hpp"
#include "quench/kit/host.hpp"

namespace quench::formats {

namespace {

using nlohmann::json;

// In a name, what weights or the forward may depend on.
constexpr std::string_view kStems[] = {
    "act",    "adapter", "bias",   "bits",  "block", "codebook",  "compress", "correct", "dim",
    "double", "group",   "hadam",  "input", "kv",    "layout",    "lora",     "lut",     "marlin",
    "order",  "outl",    "output", "pack",  "perm",  "resid",     "rota",     "scale",   "scaling",
    "sign",   "smooth",  "spars",  "svd",   "sym",   "transform", "zero",     "zp"};

bool is_off(const json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

bool speaks_of_weights(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(std::begin(kStems), std::end(kStems),
                     [&](std::string_view stem) { return lower.find(stem) != std::string::npos; });
}

}  // namespace

void UnknownMembers::look(const json& object, const std::string& prefix,
                          std::span<const KnownMember> known) {
  constexpr size_t kShownBytes = 300;
  if (!object.is_object()) {
    return;  // refused where it is read
  }
  for (const auto& [name, value] : object.items()) {
    const auto found = std::ranges::find(known, name, &KnownMember::name);
    const bool off = is_off(value);
    if (value.is_null() || (found != known.end() && (!found->only_off || off))) {
      continue;
    }
    const std::string shown = prefix + printable(name, 60);
    if (!off && (found != known.end() || speaks_of_weights(name))) {
      fail(QUENCH_UNSUPPORTED, "{}: {}: not understood, and might change what weights are", where_,
           shown);
    }
    if (unknown_.size() < kShownBytes) {
      unknown_ += (unknown_.empty() ? "" : ", ") + shown;
    }
  }
}

void UnknownMembers::tell() const {
  if (!unknown_.empty()) {
    kit::log(QUENCH_LOG_WARNING,
             fmt::format("{}: {}: not known, taken to change no weights", where_, unknown_));
  }
}

}  // namespace quench::formats
