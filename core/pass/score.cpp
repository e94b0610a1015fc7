#include "core/pass/score.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/pass/not_finite.hpp"
#include "core/pass/score_tree.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// Targets of one micro-batch: position t predicts id t+1 if that id is scored, else -1.
std::vector<int32_t> targets_of(const MicroBatch& batch, const quench_score_args& args) {
  std::vector<int32_t> targets;
  targets.reserve(batch.rows.size() * static_cast<size_t>(batch.length));
  for (const uint64_t row : batch.rows) {
    const int32_t* ids = args.ids + args.starts[row];
    const uint64_t from = args.scored_from != nullptr ? args.scored_from[row] : 1;
    for (uint64_t t = 0; t < static_cast<uint64_t>(batch.length); ++t) {
      const bool scored = t + 1 < static_cast<uint64_t>(batch.length) && t + 1 >= from;
      targets.push_back(scored ? ids[t + 1] : -1);
    }
  }
  return targets;
}

quench_tensor row_tensor(void* data, quench_dtype dtype, const int64_t* shape,
                         const int64_t* strides) {
  return {data, {QUENCH_DEVICE_CPU, 0}, 1, dtype, shape, strides, 0};
}

// Runs the head on a micro-batch that has passed all blocks; fills its part of nll and argmax.
void score_batch(ModelHandle& model, ActivationStream& stream, size_t b,
                 const quench_score_args& args) {
  const MicroBatch& batch = stream.batches()[b];
  std::vector<int32_t> targets = targets_of(batch, args);
  const int64_t count = static_cast<int64_t>(targets.size());
  const int64_t stride = 1;
  std::vector<double> nll(targets.size());
  std::vector<int32_t> argmax(args.argmax != nullptr ? targets.size() : 0);
  const quench_tensor h = stream.carried(b)[0];
  const quench_tensor target_view =
      row_tensor(targets.data(), {QUENCH_DTYPE_INT, 32, 1}, &count, &stride);
  const quench_tensor nll_view =
      row_tensor(nll.data(), {QUENCH_DTYPE_FLOAT, 64, 1}, &count, &stride);
  const quench_tensor argmax_view =
      row_tensor(argmax.data(), {QUENCH_DTYPE_INT, 32, 1}, &count, &stride);
  model.token_nll({sizeof(quench_head_args), 0, &h, &target_view, &nll_view,
                   argmax.empty() ? nullptr : &argmax_view, nullptr});
  stream.release(b);
  for (size_t r = 0; r < batch.rows.size(); ++r) {  // position t holds the score of id t+1
    const size_t length = static_cast<size_t>(batch.length);
    const uint64_t start = args.starts[batch.rows[r]];
    std::copy_n(nll.begin() + static_cast<ptrdiff_t>(r * length), length - 1, args.nll + start + 1);
    if (args.argmax != nullptr) {
      std::copy_n(argmax.begin() + static_cast<ptrdiff_t>(r * length), length - 1,
                  args.argmax + start + 1);
    }
  }
}

}  // namespace

void score(ModelHandle& model, const quench_score_args& args) {
  const std::span<const uint64_t> starts(args.starts, args.rows + 1);
  ActivationStream stream(model, {args.ids, starts[args.rows]}, starts);
  std::fill(args.nll, args.nll + starts[args.rows], 0.0);
  uint64_t done = 0;
  for (size_t b = 0; b < stream.batches().size(); ++b) {
    stop_if_asked();
    stream.forward(b);
    try {
      score_batch(model, stream, b, args);
    } catch (const Error& error) {
      if (error.code() != QUENCH_NUMERICAL) {
        throw;
      }
      fail(QUENCH_NUMERICAL, "{}; {}", error.what(), where_activations_break(model, stream, b));
    }
    done += stream.batches()[b].rows.size() * static_cast<uint64_t>(stream.batches()[b].length);
    HostServices::instance().progress("", "scoring tokens", done, starts[args.rows]);
  }
}

ScoreRequest ScoreRequest::of(const quench_score_args& args) {
  ScoreRequest request;
  request.starts.assign(args.starts, args.starts + args.rows + 1);
  request.ids.assign(args.ids, args.ids + request.starts.back());
  if (args.scored_from != nullptr) {
    request.scored_from.assign(args.scored_from, args.scored_from + args.rows);
  }
  request.argmax = args.argmax != nullptr;
  return request;
}

FusedScore::FusedScore(ModelHandle& model, const ScoreRequest& request)
    : model_(model), request_(request), stream_(model, request.ids, request.starts) {}

void FusedScore::embed() {
  for (size_t b = 0; b < stream_.batches().size(); ++b) {
    stream_.embed(b);
  }
}

void FusedScore::block(uint32_t block) {
  for (size_t b = 0; b < stream_.batches().size(); ++b) {
    stop_if_asked();
    for (uint32_t stage = 0; stage < model_.block(block).stage_count; ++stage) {
      stream_.stage(b, block, stage);
    }
  }
}

ScoreAnswer FusedScore::finish() {
  ScoreAnswer answer{std::vector<double>(request_.ids.size()),
                     std::vector<int32_t>(request_.argmax ? request_.ids.size() : 0)};
  const quench_score_args args{sizeof args,
                               0,
                               request_.starts.size() - 1,
                               request_.ids.data(),
                               request_.starts.data(),
                               request_.scored_from.empty() ? nullptr : request_.scored_from.data(),
                               answer.nll.data(),
                               request_.argmax ? answer.argmax.data() : nullptr,
                               nullptr};
  for (size_t b = 0; b < stream_.batches().size(); ++b) {
    stop_if_asked();
    score_batch(model_, stream_, b, args);
  }
  return answer;
}

void ScoreCache::note(const quench_score_args& args) {
  ScoreRequest request = ScoreRequest::of(args);
  if (std::find(requests_.begin(), requests_.end(), request) == requests_.end()) {
    requests_.push_back(std::move(request));
  }
}

bool ScoreCache::answer(const quench_score_args& args) const {
  const ScoreRequest request = ScoreRequest::of(args);
  const auto found = std::find(requests_.begin(), requests_.end(), request);
  const auto index = static_cast<size_t>(found - requests_.begin());
  if (found == requests_.end() || index >= answers_.size()) {
    return false;
  }
  std::copy(answers_[index].nll.begin(), answers_[index].nll.end(), args.nll);
  if (args.argmax != nullptr) {
    std::copy(answers_[index].argmax.begin(), answers_[index].argmax.end(), args.argmax);
  }
  return true;
}

Subject::Subject(ModelHandle& model, ScoreCache* cache, bool for_other_process)
    : model_(model), copied_(model), cache_(cache), before_(cache != nullptr ? generation() : 0) {
  const bool copies = for_other_process && model.info().device.type != QUENCH_DEVICE_CPU;
  subject_ = {sizeof(quench_subject), copies ? &CopiedModel::table() : &model.table(),
              copies ? copied_.get() : model.get(), this,
              [](void* context, const quench_score_args* args,
                 quench_error* error) noexcept -> quench_status {
                return guarded(error, [&] { static_cast<Subject*>(context)->score_rows(*args); });
              }};
}

uint64_t Subject::generation() const {
  uint64_t total = 0;
  for (const quench_parameter_info& parameter : model_.parameters()) {
    total += model_.weight_generation(parameter.name);
  }
  return total;
}

void Subject::score_rows(const quench_score_args& args) {
  if (args.parents != nullptr) {
    score_tree(model_, args);
    return;
  }
  ScoreCache* const cache = cache_ != nullptr && generation() == before_ ? cache_ : nullptr;
  if (cache != nullptr && cache->answer(args)) {
    return;
  }
  score(model_, args);
  if (cache != nullptr) {
    cache->note(args);
  }
}

}  // namespace quench
