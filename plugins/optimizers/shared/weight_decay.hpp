// Weight decay: what is set of it, by the same names in every optimizer here, and the share of a
// weight that a step removes.
#pragma once

#include <optional>
#include <string>

#include "quench/abi/kind/optimizer.h"
#include "quench/kit/error.hpp"
#include "quench/kit/parameters.hpp"

namespace quench::optimizers {

// Parameters of a plugin derive from these.
struct DecaySettings {
  double weight_decay = 0.1;  // λ
  bool decoupled = false;
  std::optional<std::string> decay;

  // Throws kit::Error where both names of the decay are set.
  void check() const {
    kit::expects(!decoupled || !decay, "decoupled: got true beside a `decay`, wanted one of them");
  }

  // The share of a weight that a step removes. Coupled to the rate: lr·λ, as torch.optim.AdamW.
  // Independent (Loshchilov and Hutter 2019, equation 12): (lr/peak)·λ, where λ alone says how much
  // a step removes at the peak rate. Corrected (Defazio 2025, algorithm 2): lr·(lr/peak)·λ of a
  // hidden matrix, lr·λ of all else.
  double removed(const quench_step_args& args, bool hidden) const {
    if (args.decays == 0 || args.lr == 0) {
      return 0;
    }
    if (decoupled || decay == "independent") {
      return weight_decay * (args.lr / args.peak_lr);
    }
    const double coupled = weight_decay * args.lr;
    return decay == "corrected" && hidden ? coupled * (args.lr / args.peak_lr) : coupled;
  }
};

template <typename Params>
void describe_decay(kit::Fields<Params>& fields) {
  const auto add = [&]<typename T>(const char* name, T DecaySettings::*member,
                                   const char* meaning) -> auto& {
    return fields.add(name, static_cast<T Params::*>(member), meaning);
  };
  add("weight_decay", &DecaySettings::weight_decay, "weight decay λ, see `decay`").at_least(0);
  add("decoupled", &DecaySettings::decoupled, "older name of `decay: independent`");
  add("decay", &DecaySettings::decay,
      "what a step removes of a weight: coupled, as if not set: lr * weight_decay; independent: "
      "(lr / peak) * weight_decay; corrected: lr * (lr / peak) * weight_decay of hidden matrices, "
      "and as coupled of all else")
      .choices("coupled|independent|corrected");
}

}  // namespace quench::optimizers
