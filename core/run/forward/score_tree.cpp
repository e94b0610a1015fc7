#include "core/run/forward/score_tree.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "core/run/forward/activation_stream.hpp"
#include "core/run/forward/prefix_batches.hpp"

namespace quench {

namespace {

// Rows first .. first+count-1 of `matrix` [N, width], C order.
struct RowsView {
  RowsView(const quench_tensor& matrix, uint64_t first, uint64_t count)
      : shape{static_cast<int64_t>(count), matrix.shape[1]} {
    view = matrix;
    view.shape = shape;
    view.data = static_cast<char*>(matrix.data) +
                first * static_cast<uint64_t>(matrix.shape[1]) * (matrix.dtype.bits / 8u);
  }
  RowsView(const RowsView&) = delete;
  RowsView& operator=(const RowsView&) = delete;
  int64_t shape[2];
  quench_tensor view;
};

// Rows of h [N, width] in the order of `scored`, one for each; neighbours are copied together.
DeviceTensor gather(ModelHandle& model, const quench_tensor& h,
                    const std::vector<ScoredPlace>& scored) {
  DeviceTensor out(model, h.dtype, {static_cast<int64_t>(scored.size()), h.shape[1]});
  const quench_tensor all = out.view();
  const uint64_t row_bytes = static_cast<uint64_t>(h.shape[1]) * (h.dtype.bits / 8u);
  for (size_t first = 0, end = 0; first < scored.size(); first = end) {
    end = first + 1;
    while (end < scored.size() && scored[end].place == scored[end - 1].place + 1) {
      ++end;
    }
    const RowsView from(h, scored[first].place, end - first);
    const RowsView to(all, first, end - first);
    if (h.device.type == QUENCH_DEVICE_CPU) {
      std::memcpy(to.view.data, from.view.data, (end - first) * row_bytes);
    } else {
      model.copy(from.view, to.view);
    }
  }
  return out;
}

void score_places(ModelHandle& model, const quench_tensor& h,
                  const std::vector<ScoredPlace>& scored, const quench_score_args& args) {
  const DeviceTensor rows = gather(model, h, scored);
  std::vector<int32_t> targets;
  for (const ScoredPlace& place : scored) {
    targets.push_back(args.ids[place.id]);
  }
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
    if (HostServices::instance().cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    if (!batches[b].scored.empty()) {
      stream.forward(b);
      score_places(model, stream.carried(b)[0], batches[b].scored, args);
      stream.release(b);
    }
    done += batches[b].ids.size();
    HostServices::instance().progress("", "scoring tokens", done, total);
  }
}

}  // namespace quench
