// Scores token sequences: the forward behind every metric of the loss.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pass/activation_stream.hpp"
#include "core/pass/copied_model.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// Fills args.nll (and args.argmax) for all sequences, one micro-batch after the other, each through
// all blocks. Throws Error; CANCELLED after a stop request, NUMERICAL naming the stage after which
// the activations are not finite if a loss is not.
void score(ModelHandle& model, const quench_score_args& args);

// A metric's request for scores.
struct ScoreRequest {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts;
  std::vector<uint64_t> scored_from;  // empty: 1 in every sequence
  bool argmax = false;

  static ScoreRequest of(const quench_score_args& args);
  bool operator==(const ScoreRequest&) const = default;
};

struct ScoreAnswer {
  std::vector<double> nll;      // like ids
  std::vector<int32_t> argmax;  // like ids; empty if not requested
};

// Moves all sequences of one request through the model together, block by block, so that they can
// be scored during a pass that quantizes each block. Micro-batches, and so the bits, are those of
// `score`. Memory: the residual stream of all sequences.
class FusedScore {
 public:
  // The caller keeps `request` alive.
  FusedScore(ModelHandle& model, const ScoreRequest& request);
  void embed();
  void block(uint32_t block);
  // Call after the last block.
  ScoreAnswer finish();
  uint64_t tokens() const { return request_.ids.size(); }

 private:
  ModelHandle& model_;
  const ScoreRequest& request_;
  ActivationStream stream_;
};

// The score requests of metrics, and answers that are known before metrics ask again.
class ScoreCache {
 public:
  // Adds a request unless it is known.
  void note(const quench_score_args& args);
  const std::vector<ScoreRequest>& requests() const { return requests_; }
  // Sets the answers of the first requests, in order; empty when the model changes.
  void set_answers(std::vector<ScoreAnswer> answers) { answers_ = std::move(answers); }
  // Copies the answer to an equal request into args; returns false if there is none.
  bool answer(const quench_score_args& args) const;

 private:
  std::vector<ScoreRequest> requests_;
  std::vector<ScoreAnswer> answers_;
};

// The model in the form that a metric gets. Must outlive every use of `subject()`. With a `cache`,
// answers requests from it if possible, else scores and notes them; requests after the metric has
// set a weight are only scored. To a metric in a process of its own, a model on a device is one in
// host memory (`for_other_process`).
class Subject {
 public:
  explicit Subject(ModelHandle& model, ScoreCache* cache = nullptr, bool for_other_process = false);
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  const quench_subject& subject() const { return subject_; }

 private:
  void score_rows(const quench_score_args& args);
  // Increases with every weight that is set.
  uint64_t generation() const;

  ModelHandle& model_;
  CopiedModel copied_;
  ScoreCache* cache_;
  uint64_t before_ = 0;  // the generation when the metric began
  quench_subject subject_;
};

}  // namespace quench
