#include "quantizers/awq/replay.hpp"

#include <deque>

#include "quantizers/awq/device/rounding_by_kernel.hpp"
#include "quantizers/gram/squares.hpp"
#include "quench/abi/extension/block.h"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

const quench_block_service& service() {
  const auto* found = kit::service<quench_block_service>(QUENCH_SERVICE_BLOCK);
  if (found == nullptr) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "the host has no " QUENCH_SERVICE_BLOCK);
  }
  return *found;
}

quench_replay_place find_place() {
  quench_replay_place place{};
  place.struct_size = sizeof place;
  quench_error error{sizeof error, 0, {}};
  kit::check(service().place(kit::current_host, &place, &error), error);
  return place;
}

// The weight that rounding gives, where the weight is.
at::Tensor rounded_weight(const ScaledWeight& from, std::span<const double> scale) {
  const at::ScalarType type = from.weight.scalar_type();
  if (!rounds_on_host(from)) {
    return from.weight.sub(RoundingByKernel(from, scale).errors({}, 0, from.rows).to(type));
  }
  at::Tensor value = kit::host_empty({from.rows, from.columns}, type);
  std::vector<float> errors(static_cast<size_t>(value.numel()));
  rounding_errors(from, scale, {}, 0, from.rows, errors.data());
  const auto fill = [&]<typename T>(T* to) {
    const T* weight = from.weight.const_data_ptr<T>();
    for (size_t i = 0; i < errors.size(); ++i) {
      to[i] = weight[i] - static_cast<T>(errors[i]);
    }
  };
  if (type == at::kDouble) {
    fill(value.data_ptr<double>());
  } else {
    fill(value.data_ptr<float>());
  }
  return value;
}

// The model's weights under a channel scale, as overlays for a replay.
class Overlays {
 public:
  Overlays(std::span<const NamedWeight> weights, std::span<const double> scale) {
    for (const NamedWeight& named : weights) {
      const at::Tensor& value = values_.emplace_back(rounded_weight(named.weight, scale));
      views_.push_back({sizeof(quench_overlay), 0, named.parameter.c_str(), kit::view_of(value)});
    }
  }
  const std::vector<quench_overlay>& views() const { return views_; }

 private:
  std::deque<at::Tensor> values_;
  std::vector<quench_overlay> views_;
};

// The tensors that a batch carries into `stage`, except the input of the next group, where they
// are. Valid until the next call.
std::vector<at::Tensor> carried(const quench_replay_place& place, uint64_t batch, uint32_t stage,
                                const std::vector<quench_overlay>& overlays) {
  const quench_replay_args args{
      sizeof args,     0,      batch, stage, static_cast<uint32_t>(overlays.size()),
      overlays.data(), nullptr};
  const quench_tensor* tensors = nullptr;
  uint32_t count = 0;
  quench_error error{sizeof error, 0, {}};
  kit::check(service().replay(kit::current_host, &args, &tensors, &count, &error), error);
  std::vector<at::Tensor> out;
  for (uint32_t i = 0; i < count; ++i) {
    bool feeds = false;
    for (uint32_t g = 0; g < place.info->group_count && i > 0; ++g) {
      const quench_group_info& group = place.info->groups[g];
      feeds = feeds || (group.stage + 1 == stage && group.input == static_cast<int32_t>(i));
    }
    const bool floating =
        tensors[i].dtype.code == QUENCH_DTYPE_FLOAT || tensors[i].dtype.code == QUENCH_DTYPE_BFLOAT;
    if (!feeds && floating) {
      out.push_back(kit::borrow(tensors[i]));
    }
  }
  return out;
}

// Copies of what a batch carries with the model's weights.
std::vector<at::Tensor> carried_exactly(const quench_replay_place& place, uint64_t batch,
                                        uint32_t stage) {
  std::vector<at::Tensor> out = carried(place, batch, stage, {});
  for (at::Tensor& tensor : out) {
    tensor = tensor.clone();
  }
  return out;
}

// Adds the squared differences to `sum`. Returns the number of elements in tensors that differ.
int64_t add_change(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                   double& sum) {
  int64_t changed = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double own = squared_difference(a[i], b[i]);
    changed += own > 0 ? a[i].numel() : 0;
    sum += own;
  }
  return changed;
}

// The first stage whose input depends on the replaced weights; the end of the block if none
// does.
uint32_t first_change(const quench_replay_place& place, const Overlays& overlays) {
  for (uint32_t stage = place.stage + 1; stage < place.stages; ++stage) {
    const std::vector<at::Tensor> exact = carried_exactly(place, 0, stage);
    double sum = 0;
    if (add_change(exact, carried(place, 0, stage, overlays.views()), sum) > 0) {
      return stage;
    }
  }
  return place.stages;
}

}  // namespace

std::vector<double> replay_losses(std::span<const NamedWeight> weights,
                                  std::span<const std::vector<double>> scales) {
  const quench_replay_place place = find_place();
  const uint32_t stage = first_change(place, Overlays(weights, scales[0]));
  std::vector<double> losses(scales.size());
  std::vector<int64_t> elements(scales.size());
  for (uint64_t batch = 0; batch < place.batches; ++batch) {
    const std::vector<at::Tensor> exact = carried_exactly(place, batch, stage);
    for (size_t s = 0; s < scales.size(); ++s) {
      kit::check_cancelled();
      const Overlays overlays(weights, scales[s]);
      elements[s] += add_change(exact, carried(place, batch, stage, overlays.views()), losses[s]);
    }
  }
  for (size_t s = 0; s < losses.size(); ++s) {
    losses[s] = elements[s] > 0 ? losses[s] / static_cast<double>(elements[s]) : 0;
  }
  return losses;
}

}  // namespace quench::quantizers
