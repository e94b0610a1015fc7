#include "core/run/score.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "core/run/activation_stream.hpp"

namespace quench {

namespace {

// Targets of one micro-batch: position t of a row predicts id t+1 where that id is scored, else -1.
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

}  // namespace

void score(ModelHandle& model, const quench_score_args& args) {
  const std::span<const uint64_t> starts(args.starts, args.rows + 1);
  ActivationStream stream(model, {args.ids, starts[args.rows]}, starts);
  std::fill(args.nll, args.nll + starts[args.rows], 0.0);
  HostServices& services = HostServices::instance();
  uint64_t done = 0;
  for (size_t b = 0; b < stream.batches().size(); ++b) {
    if (services.cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    const MicroBatch& batch = stream.batches()[b];
    stream.forward(b);
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
      double* out = args.nll + starts[batch.rows[r]];
      std::copy_n(nll.begin() + static_cast<ptrdiff_t>(r * length), length - 1, out + 1);
      if (args.argmax != nullptr) {
        std::copy_n(argmax.begin() + static_cast<ptrdiff_t>(r * length), length - 1,
                    args.argmax + starts[batch.rows[r]] + 1);
      }
    }
    done += targets.size();
    services.progress("", "scoring tokens", done, starts[args.rows]);
  }
}

Subject::Subject(ModelHandle& model) {
  subject_ = {sizeof(quench_subject), &model.table(), model.get(), &model,
              [](void* context, const quench_score_args* args,
                 quench_error* error) noexcept -> quench_status {
                try {
                  score(*static_cast<ModelHandle*>(context), *args);
                  return QUENCH_OK;
                } catch (const Error& failure) {
                  return report_error(error, failure.code(), failure.what());
                } catch (const std::exception& failure) {
                  return report_error(error, QUENCH_INTERNAL, failure.what());
                }
              }};
}

}  // namespace quench
