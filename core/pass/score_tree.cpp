#include "core/pass/score_tree.hpp"

#include <algorithm>

#include "core/arithmetic/prefix_batches.hpp"
#include "core/error.hpp"
#include "core/pass/activation_stream.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// The places from which ids are predicted, ascending, each once.
std::vector<uint64_t> distinct_places(const std::vector<ScoredPlace>& scored) {
  std::vector<uint64_t> places;
  places.reserve(scored.size());
  for (const ScoredPlace& one : scored) {
    places.push_back(one.place);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// h has one row for each of `places`.
void score_places(ModelHandle& model, const quench_tensor& h, const std::vector<uint64_t>& places,
                  const std::vector<ScoredPlace>& scored, const quench_score_args& args) {
  std::vector<int32_t> targets;
  std::vector<uint64_t> from;
  for (const ScoredPlace& one : scored) {
    targets.push_back(args.ids[one.id]);
    const auto found = std::lower_bound(places.begin(), places.end(), one.place);
    from.push_back(static_cast<uint64_t>(found - places.begin()));
  }
  const DeviceTensor rows = rows_at(model, h, from, 1);
  std::vector<double> nll(targets.size());
  std::vector<int32_t> argmax(args.argmax != nullptr ? targets.size() : 0);
  const auto count = static_cast<int64_t>(targets.size());
  const int64_t stride = 1;
  const auto host_view = [&](void* data, quench_dtype dtype) {
    return quench_tensor{data, {QUENCH_DEVICE_CPU, 0}, 1, dtype, &count, &stride, 0};
  };
  const quench_tensor row_view = rows.view();
  const quench_tensor target_view = host_view(targets.data(), {QUENCH_DTYPE_INT, 32, 1});
  const quench_tensor nll_view = host_view(nll.data(), {QUENCH_DTYPE_FLOAT, 64, 1});
  const quench_tensor argmax_view = host_view(argmax.data(), {QUENCH_DTYPE_INT, 32, 1});
  model.token_nll({sizeof(quench_head_args), 0, &row_view, &target_view, &nll_view,
                   argmax.empty() ? nullptr : &argmax_view, nullptr});
  for (size_t i = 0; i < scored.size(); ++i) {
    args.nll[scored[i].id] = nll[i];
    if (args.argmax != nullptr) {
      args.argmax[scored[i].id] = argmax[i];
    }
  }
}

}  // namespace

void score_tree(ModelHandle& model, const quench_score_args& args) {
  const quench_model_info info = model.info();
  const std::vector<PrefixBatch> batches =
      plan_prefix_batches(args, {info.width, info.max_positions});
  std::fill(args.nll, args.nll + args.starts[args.rows], 0.0);
  ActivationStream stream(model, batches);
  uint64_t total = 0;
  for (const PrefixBatch& batch : batches) {
    total += batch.ids.size();
  }
  uint64_t done = 0;
  for (size_t b = 0; b < batches.size(); ++b) {
    stop_if_asked();
    if (!batches[b].scored.empty()) {
      const std::vector<uint64_t> places = distinct_places(batches[b].scored);
      stream.forward(b, places);
      score_places(model, stream.carried(b)[0], places, batches[b].scored, args);
      stream.release(b);
    }
    done += batches[b].ids.size();
    HostServices::instance().progress("", "scoring tokens", done, total);
  }
}

}  // namespace quench
