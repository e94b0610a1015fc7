// Which inputs of linears are rotated: parameters that several quantizers have, neither of them set
// by default, so that settings without them have the keys that they had before these were there.
//
//   struct Params : ActivationParameters, RotationParameters {
//     static void describe(kit::Fields<Params>& fields) { ...; add_rotation(fields); }
//   };
//   QUENCH_MODULE(..., rotatable<Rtn>({...}))    // rotatable.hpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quench/abi/kind/model.h"
#include "quench/kit/parameters.hpp"

namespace quench::quantizers {

struct RotationParameters {
  std::optional<std::string> rotate;
  std::optional<int64_t> rotate_draw;

  bool rotates() const { return rotate.value_or("none") != "none"; }
  // Whether the input of this linear, and so of its group, is rotated. Output head and embedding
  // keep theirs.
  bool rotates(const quench_linear_info& linear) const;
  // Whether both rotate the same inputs by the same matrices.
  bool operator==(const RotationParameters& other) const {
    return rotate.value_or("none") == other.rotate.value_or("none") &&
           rotate_draw.value_or(0) == other.rotate_draw.value_or(0);
  }
};

template <typename Params>
void add_rotation(kit::Fields<Params>& fields) {
  fields
      .template add<std::optional<std::string>>(
          "rotate", &Params::rotate,
          "inputs of linears that are multiplied by a random Hadamard matrix before they are "
          "rounded, whose inverse goes into the weights: those that no rotation of the residual "
          "stream reaches, such as of o and down (inner), or every linear's (all); none, as if not "
          "set")
      .choices("none|inner|all");
  fields
      .template add<std::optional<int64_t>>(
          "rotate_draw", &Params::rotate_draw,
          "index of that matrix's random signs under the run's seed; 0 if not set")
      .at_least(0);
}

}  // namespace quench::quantizers
