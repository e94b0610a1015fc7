#include "models/decoder/loss_batch.hpp"

#include <ATen/ops/from_blob.h>

#include "quench/kit/tensor.hpp"

namespace quench::decoder {

namespace {

std::vector<int32_t> copied(const quench_tensor* view, const char* what) {
  if (view == nullptr) {
    return {};
  }
  const auto values = kit::elements<int32_t>(*view, what);
  return {values.begin(), values.end()};
}

}  // namespace

LossBatch::Arrays::Arrays(const quench_loss_args& args) {
  kit::expects(args.batch != nullptr && args.batch->tokens != nullptr && args.targets != nullptr,
               "loss: no batch or no targets");
  kit::expects(args.batch->tokens->dimensions == 2, "batch: tokens: wanted two dimensions, [B, T]");
  shape = {args.batch->tokens->shape[0], args.batch->tokens->shape[1]};
  tokens = copied(args.batch->tokens, "batch: tokens");
  positions = copied(args.batch->positions, "batch: positions");
  segments = copied(args.batch->segments, "batch: segments");
  targets = copied(args.targets, "loss: targets");
  kit::expects(targets.size() == tokens.size(), "loss: targets: wanted [B, T], as the tokens");
  // Batch has checked the caller's own shapes before these copies are read.
  batch = *args.batch;
  const std::array<std::vector<int32_t>*, 3> held = {&tokens, &positions, &segments};
  for (size_t i = 0; i < held.size(); ++i) {
    views[i] = {held[i]->data(), {QUENCH_DEVICE_CPU, 0}, 2, kit::kInt32, shape.data(), nullptr, 0};
  }
  batch.tokens = &views[0];
  batch.positions = args.batch->positions != nullptr ? &views[1] : nullptr;
  batch.segments = args.batch->segments != nullptr ? &views[2] : nullptr;
}

namespace {

// Checks that the caller's own arrays are as Batch requires.
const quench_loss_args& checked(const quench_loss_args& args, int64_t max_positions) {
  const Batch batch(args.batch, max_positions);
  return args;
}

}  // namespace

LossBatch::LossBatch(const quench_loss_args& args, int64_t max_positions, int64_t vocabulary,
                     at::Device device)
    : arrays_(checked(args, max_positions)),
      batch(&arrays_.batch, max_positions),
      targets(arrays_.targets),
      ids(at::from_blob(arrays_.tokens.data(), {batch.tokens()}, at::TensorOptions(at::kInt))
              .to(device, at::kLong)) {
  batch.check_ids(vocabulary);
}

}  // namespace quench::decoder
