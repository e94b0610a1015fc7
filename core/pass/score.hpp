// Scoring of token sequences: the forward behind every metric of the loss.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pass/activation_stream.hpp"
#include "core/plugin/model_handle.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// Fills args.nll (and args.argmax) for all rows, one micro-batch after the other, each through all
// blocks. Throws Error; CANCELLED when a stop was requested, NUMERICAL with the stage behind which
// the activations are not finite where a loss is not.
void score(ModelHandle& model, const quench_score_args& args);

// What a metric asked to be scored.
struct ScoreRequest {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts;
  std::vector<uint64_t> scored_from;  // empty: 1 in every row
  bool argmax = false;

  static ScoreRequest of(const quench_score_args& args);
  bool operator==(const ScoreRequest&) const = default;
};

struct ScoreAnswer {
  std::vector<double> nll;      // like ids
  std::vector<int32_t> argmax;  // like ids; empty where not asked for
};

// All rows of one request on their way through the model together, block by block, so that they can
// be scored during a pass that changes the weights of a block before it is used for good. The
// micro-batches are those of `score`, and so are the bits. Memory: the residual stream of all rows.
class FusedScore {
 public:
  // `request` is borrowed.
  FusedScore(ModelHandle& model, const ScoreRequest& request);
  void embed();
  void block(uint32_t block);
  // After the last block.
  ScoreAnswer finish();
  uint64_t tokens() const { return request_.ids.size(); }

 private:
  ModelHandle& model_;
  const ScoreRequest& request_;
  ActivationStream stream_;
};

// The requests of metrics, and answers that are known before they ask again.
class ScoreCache {
 public:
  // Keeps a request that is not there yet.
  void note(const quench_score_args& args);
  const std::vector<ScoreRequest>& requests() const { return requests_; }
  // Of the first requests, in their order; of none, when the model changes.
  void set_answers(std::vector<ScoreAnswer> answers) { answers_ = std::move(answers); }
  // Copies the answer to an equal request into args; false where there is none.
  bool answer(const quench_score_args& args) const;

 private:
  std::vector<ScoreRequest> requests_;
  std::vector<ScoreAnswer> answers_;
};

// The model as a metric sees it. Must outlive every use of `subject()`. With a `cache`, requests
// are answered from it where it can, else scored and noted in it; but what is asked after the
// metric has set a weight is only scored.
class Subject {
 public:
  explicit Subject(ModelHandle& model, ScoreCache* cache = nullptr);
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  const quench_subject& subject() const { return subject_; }

 private:
  void score_rows(const quench_score_args& args);
  // Grows with every weight that is set.
  uint64_t generation() const;

  ModelHandle& model_;
  ScoreCache* cache_;
  uint64_t before_ = 0;  // the generation when the metric began
  quench_subject subject_;
};

}  // namespace quench
