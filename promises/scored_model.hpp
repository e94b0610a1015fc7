// A model of one number a token whose loss, derivatives and stages are known: what any metric may
// ask a model for.
#pragma once

#include <array>
#include <cstdint>

#include "promises/memory_source.hpp"
#include "quench/abi/extension/gradients.h"
#include "quench/abi/kind/metric.h"

namespace quench::promises {

// h = embed[id] + layers.0.w; the logit of id v is head * h * v / kIds. Parameters in float64, one
// block of one linear; extensions grad and hvp.
class ScoredModel {
 public:
  static constexpr int64_t kIds = 64;
  static constexpr uint64_t kSize = kIds + 2;

  // `shift` is added to layers.0.w.
  explicit ScoredModel(double shift, double head = 2);
  ScoredModel(const ScoredModel&) = delete;
  ScoredModel& operator=(const ScoredModel&) = delete;

  // Valid as long as this object.
  const quench_subject& subject() const { return subject_; }
  // The weights as a tensor source; valid as long as this object, and as they were made.
  const quench_source* source() const { return source_.source(); }

  // -log p of each id after `id`.
  std::array<double, kIds> losses_after(int32_t id) const;

  std::array<double, kSize> weights;  // embed, layers.0.w, head

 private:
  quench_model_table table_{};
  quench_subject subject_{};
  MemorySource source_;
};

}  // namespace quench::promises
