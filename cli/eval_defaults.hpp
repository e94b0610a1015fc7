// What `eval`, `gate` and `compare` measure unless they are told: a file beside the shipped text
// says it, since the host knows no method.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace quench {

// In the form of options. `{length}` and `{folder}` of the file are replaced.
struct EvalDefaults {
  std::string about;  // the text, in words
  std::vector<std::string> metrics;
  std::vector<std::string> quantizers;
  std::string calibration;
};

// Each of `experiments` has a checkpoint; the shortest of their contexts bounds the length of
// blocks, and so does `longest`. Throws Error(FAILED_PRECONDITION) where this installation has no
// such file.
EvalDefaults eval_defaults(const std::vector<Experiment>& experiments, Context& context,
                           int64_t longest);

// The ids of those quantizers that there are; none where this installation has no such file.
std::vector<std::string> default_quantizers(Context& context);

// The first line of an answer: whose text it is decides what the numbers mean.
void tell_defaults(const EvalDefaults& defaults);

// Seconds that measuring all of it takes, and how well that is known: "rough estimate".
struct EvalTime {
  double seconds = 0;
  std::string basis;
};
EvalTime eval_time(const Experiment& experiment, Context& context);

}  // namespace quench
