#include "quantizers/rotated/settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace quench::quantizers {

namespace {

bool is_one_of(std::string_view role, const auto& roles) {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

// Linears behind a norm of the residual stream, or that read the stream itself.
constexpr std::array<std::string_view, 8> kReadersOfStream = {"q",    "k",  "v",       "qkv",
                                                              "gate", "up", "gate_up", "in"};
constexpr std::array<std::string_view, 2> kOutsideBlocks = {"head", "embedding"};

}  // namespace

bool RotationParameters::rotates(const quench_linear_info& linear) const {
  const std::string_view role = linear.role != nullptr ? linear.role : "";
  if (!rotates() || is_one_of(role, kOutsideBlocks)) {
    return false;
  }
  return *rotate == "all" || !is_one_of(role, kReadersOfStream);
}

}  // namespace quench::quantizers
