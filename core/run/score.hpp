// Scoring of token sequences: the forward behind every metric of the loss.
#pragma once

#include "core/plugin/model_handle.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// Fills args.nll (and args.argmax) for all rows, one micro-batch after the other, each through all
// blocks. Throws Error; CANCELLED when a stop was requested.
void score(ModelHandle& model, const quench_score_args& args);

// The model as a metric sees it. Must outlive every use of `subject()`.
class Subject {
 public:
  explicit Subject(ModelHandle& model);
  const quench_subject& subject() const { return subject_; }

 private:
  quench_subject subject_;
};

}  // namespace quench
