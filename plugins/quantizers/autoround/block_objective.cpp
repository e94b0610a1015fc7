#include "quantizers/autoround/block_objective.hpp"

#include <cstddef>

#include "quantizers/gram/squares.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

const quench_block_service* found_service() {
  return kit::service<quench_block_service>(QUENCH_SERVICE_BLOCK);
}

const quench_block_service& service() {
  const quench_block_service* found = found_service();
  kit::expects(found != nullptr, "the host has no " QUENCH_SERVICE_BLOCK);
  return *found;
}

// Runs a batch through the block; the residual stream after it, valid until the next call.
at::Tensor run_block(const quench_replay_place& place, uint64_t batch,
                     const std::vector<quench_overlay>& overlays) {
  const quench_replay_args args{
      sizeof args,     0,      batch, place.stages, static_cast<uint32_t>(overlays.size()),
      overlays.data(), nullptr};
  const quench_tensor* tensors = nullptr;
  uint32_t count = 0;
  quench_error error{sizeof error, 0, {}};
  kit::check(service().replay(kit::current_host, &args, &tensors, &count, &error), error);
  kit::expects(count > 0, "replay: wanted the residual stream, got nothing");
  return kit::borrow(tensors[0]);
}

}  // namespace

quench_replay_place find_block() {
  quench_replay_place place{};
  place.struct_size = sizeof place;
  const quench_block_service* found = found_service();
  quench_error error{sizeof error, 0, {}};
  const quench_status status = found == nullptr ? QUENCH_FAILED_PRECONDITION
                                                : found->place(kit::current_host, &place, &error);
  if (status == QUENCH_FAILED_PRECONDITION) {
    place.info = nullptr;
    return place;
  }
  kit::check(status, error);
  constexpr size_t kWanted = offsetof(quench_block_service, float_output) + sizeof(void*);
  if (found->struct_size < kWanted || found->gradient == nullptr ||
      found->float_output == nullptr) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "objective = block: this host cannot differentiate a block; wanted quench with ABI "
              "1.1, or objective = linear");
  }
  return place;
}

at::Tensor block_weight(const quench_linear_info& linear, bool float64) {
  const at::Tensor value = kit::host_empty({linear.out_features, linear.in_features},
                                           float64 ? at::kDouble : at::kFloat);
  const quench_tensor view = kit::view_of(value);
  quench_error error{sizeof error, 0, {}};
  kit::check(service().weight(kit::current_host, linear.weight, &view, &error), error);
  return value;
}

BlockObjective::BlockObjective(const quench_replay_place& place,
                               std::span<TunedLinear* const> linears, Target target)
    : place_(place), linears_(linears), kind_(target) {
  kit::expects(place.stage == 0, "objective = block: wanted batches before a block's first stage");
  for (uint64_t batch = 0; batch < place.batches; ++batch) {
    const at::Tensor stream =
        kind_ == Target::kOwnInput ? run_block(place_, batch, {}).clone() : this->target(batch);
    tokens_.push_back(stream.size(0));
    width_ = stream.size(1);
    if (kind_ == Target::kOwnInput) {
      own_.push_back(stream);
    }
  }
}

at::Tensor BlockObjective::target(uint64_t batch) const {
  if (kind_ == Target::kOwnInput) {
    return own_[batch];
  }
  const quench_tensor* tensors = nullptr;
  uint32_t count = 0;
  quench_error error{sizeof error, 0, {}};
  kit::check(service().float_output(kit::current_host, batch, &tensors, &count, &error), error);
  kit::expects(count > 0, "float_output: wanted the residual stream, got nothing");
  return kit::borrow(tensors[0]);
}

std::vector<quench_overlay> BlockObjective::overlays() const {
  std::vector<quench_overlay> views;
  for (const TunedLinear* linear : linears_) {
    views.push_back(
        {sizeof(quench_overlay), 0, linear->parameter().c_str(), kit::view_of(linear->rounded())});
  }
  return views;
}

double BlockObjective::descend(std::span<const uint64_t> batches) {
  const std::vector<quench_overlay> weights = overlays();
  std::vector<const char*> names;
  std::vector<quench_tensor> gradients;
  for (const TunedLinear* linear : linears_) {
    names.push_back(linear->parameter().c_str());
    gradients.push_back(kit::view_of(linear->gradient()));
  }
  int64_t elements = 0;
  for (const uint64_t batch : batches) {
    elements += tokens_[batch] * width_;
  }
  const auto count = static_cast<uint32_t>(linears_.size());
  double sum = 0;
  for (const uint64_t batch : batches) {
    const at::Tensor wanted = target(batch);
    const quench_tensor wanted_view = kit::view_of(wanted);
    const quench_replay_gradient_args args{sizeof args,
                                           0,
                                           batch,
                                           count,
                                           count,
                                           weights.data(),
                                           &wanted_view,
                                           nullptr,
                                           1.0 / static_cast<double>(elements),
                                           names.data(),
                                           gradients.data(),
                                           nullptr};
    double loss = 0;
    quench_error error{sizeof error, 0, {}};
    kit::check(service().gradient(kit::current_host, &args, &loss, &error), error);
    sum += loss;
  }
  return sum / static_cast<double>(elements);
}

double BlockObjective::loss() {
  const std::vector<quench_overlay> weights = overlays();
  int64_t elements = 0;
  double sum = 0;
  for (uint64_t batch = 0; batch < place_.batches; ++batch) {
    kit::check_cancelled();
    sum += squared_difference(run_block(place_, batch, weights), target(batch));
    elements += tokens_[batch] * width_;
  }
  return sum / static_cast<double>(elements);
}

}  // namespace quench::quantizers
