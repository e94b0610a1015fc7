#include "models/decoder/decoder.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/decoder/curvature.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/head.hpp"
#include "quench/abi/extension/device_memory.h"
#include "quench/kit/host.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

at::ScalarType float_type(quench_dtype dtype) {
  const at::ScalarType type = kit::scalar_type(dtype);
  if (!c10::isFloatingType(type)) {
    kit::fail(QUENCH_UNSUPPORTED, "a model in %s: wanted float64, float32, bfloat16 or float16",
              kit::name_of(dtype).c_str());
  }
  return type;
}

Weights weights_of(Architecture& architecture, const quench_model_open_args& args,
                   at::ScalarType dtype, at::Device device) {
  kit::expects((args.flags & ~(QUENCH_OPEN_INITIALIZE | QUENCH_OPEN_SHAPES)) == 0,
               "open: unknown flags");
  if ((args.flags & QUENCH_OPEN_SHAPES) != 0) {
    return {std::move(architecture.weights), dtype, device};
  }
  if ((args.flags & QUENCH_OPEN_INITIALIZE) != 0) {
    kit::expects(args.source == nullptr,
                 "open: got a tensor source and the flag for initial weights, wanted one");
    return {std::move(architecture.weights), architecture.initializer_range, dtype, device};
  }
  kit::expects(args.source != nullptr, "open: no tensor source");
  return {std::move(architecture.weights), kit::Source(*args.source), architecture.ignorable, dtype,
          device};
}

}  // namespace

Decoder::Decoder(Architecture architecture, const quench_model_open_args& args)
    : dtype_(float_type(args.dtype)),
      device_(usable_device(args.device)),
      weights_(weights_of(architecture, args, dtype_, device_)),
      embedding_(weights_.at(architecture.embedding)),
      embedding_scale_(architecture.embedding_scale),
      head_(weights_.at(architecture.head), at::Tensor()),
      residual_(std::move(architecture.residual)),
      memory_(device_) {
  for (BlockSpec& spec : architecture.blocks) {
    const auto& plan = plans_.emplace_back(std::make_unique<BlockPlan>(std::move(spec), weights_));
    auto& groups = linears_.emplace_back();
    for (uint32_t g = 0; g < plan->info().group_count; ++g) {
      const quench_group_info& group = plan->info().groups[g];
      auto& linears = groups.emplace_back();
      for (uint32_t l = 0; l < group.linear_count; ++l) {
        const quench_linear_info& named = group.linears[l];
        linears.emplace_back(weights_.at(named.weight),
                             named.bias != nullptr ? weights_.at(named.bias) : at::Tensor());
      }
    }
  }
  cache_ops_.resize(plans_.size());
  info_ = {sizeof(quench_model_info),
           static_cast<uint32_t>(plans_.size()),
           architecture.width,
           architecture.vocabulary,
           architecture.max_positions,
           args.dtype,
           args.device};
}

quench_model_info Decoder::info() const {
  return info_;
}

void Decoder::copy(const quench_tensor& from, const quench_tensor& to, void* stream) {
  const c10::InferenceMode mode;
  expect_default_stream(stream);
  decoder::copy(from, to);
}

void Decoder::embed(const quench_embed_args& args) {
  const c10::InferenceMode mode;
  expect_default_stream(args.stream);
  const Batch batch(args.batch, info_.max_positions);
  batch.check_ids(info_.vocabulary);
  at::Tensor h = borrow_rows(args.h, batch.tokens(), info_.width, info_.dtype, device_, "embed: h");
  const at::Tensor ids = at::from_blob(const_cast<int32_t*>(batch.ids().data()), {batch.tokens()},
                                       at::TensorOptions(at::kInt))
                             .to(device_);
  kit::for_row_blocks(h, [&](int64_t first, int64_t count) {
    at::Tensor rows = h.narrow(0, first, count);
    at::index_select_out(rows, embedding_, 0, ids.narrow(0, first, count));
    if (embedding_scale_ != 1.0) {
      rows.mul_(embedding_scale_);
    }
  });
}

void Decoder::stage(const quench_stage_args& args) {
  const c10::InferenceMode mode;
  expect_default_stream(args.stream);
  kit::check_cancelled();
  kit::expects(args.block < info_.blocks, "stage: no such block");
  const BlockPlan& plan = *plans_[args.block];
  kit::expects(args.stage < plan.stage_count(), "stage: no such stage");
  const Batch batch(args.batch, info_.max_positions);
  weights_.enter(args.block);
  const StageIo io(args, plan, batch, device_);
  if (!records(device_) || !batch.is_plain() || weights_.by_block() || is_replaced(args.block)) {
    run_stage(io, args.block, args.stage, batch);
    return;
  }
  recorded_stages_(args.block, args.stage, batch.length(), io.all_in(), io.taken(),
                   [&](const RecordedStages::Tensors& in, const RecordedStages::Tensors& out) {
                     run_stage(StageIo(in, out), args.block, args.stage, batch);
                   });
}

// An op may do anything.
bool Decoder::is_replaced(uint32_t block) const {
  const auto has_op = [](const std::vector<Linear>& group) {
    return std::ranges::any_of(group, &Linear::is_replaced);
  };
  return cache_ops_[block].is_set() || std::ranges::any_of(linears_[block], has_op);
}

bool Decoder::is_replaced() const {
  for (uint32_t block = 0; block < info_.blocks; ++block) {
    if (is_replaced(block)) {
      return true;
    }
  }
  return false;
}

void Decoder::token_nll(const quench_head_args& args) {
  const c10::InferenceMode mode;
  expect_default_stream(args.stream);
  kit::expects(args.h != nullptr && args.h->dimensions == 2, "token_nll: h: wanted [N, width]");
  const at::Tensor h =
      borrow_rows(args.h, args.h->shape[0], info_.width, info_.dtype, device_, "token_nll: h");
  decoder::token_nll(
      args, h, info_.vocabulary,
      [this](const at::Tensor& rows, const at::Tensor& logits) { write_logits(rows, logits); });
}

void Decoder::write_logits(const at::Tensor& h, const at::Tensor& to) const {
  head_.into(final_norm(h), to);
  if (const at::Tensor made = after_head(to); !made.is_same(to)) {
    copy_rows(made, to);
  }
}

void Decoder::logits(const quench_tensor& h, const quench_tensor& logits, void* stream) {
  const c10::InferenceMode mode;
  expect_default_stream(stream);
  kit::expects(h.dimensions == 2, "logits: h: wanted [R, width]");
  const int64_t rows = h.shape[0];
  const at::Tensor from = borrow_rows(&h, rows, info_.width, info_.dtype, device_, "logits: h");
  const at::Tensor to =
      borrow_rows(&logits, rows, info_.vocabulary, info_.dtype, device_, "logits: logits");
  write_logits(from, to);
}

void Decoder::head_rows(const quench_tensor& h, const quench_tensor& x, void* stream) {
  const c10::InferenceMode mode;
  expect_default_stream(stream);
  kit::expects(h.dimensions == 2, "head rows: h: wanted [R, width]");
  const int64_t rows = h.shape[0];
  const at::Tensor from = borrow_rows(&h, rows, info_.width, info_.dtype, device_, "head rows: h");
  const at::Tensor to = borrow_rows(&x, rows, info_.width, info_.dtype, device_, "head rows: x");
  copy_rows(final_norm(from), to);
}

namespace {

Decoder& self(quench_model* model) {
  return static_cast<Decoder&>(kit::detail::self(model));
}

constexpr quench_model_gradient kGradient = {
    sizeof(quench_model_gradient),
    [](quench_model* model, const quench_loss_args* args, const quench_tensor* gradient,
       double* loss, quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] { *loss = self(model).gradient(*args, gradient); });
    }};

constexpr quench_model_device_memory kDeviceMemory = {
    sizeof(quench_model_device_memory),
    [](quench_model* model, uint64_t* free_bytes, uint64_t* total_bytes,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        const DeviceMemory::Available available = self(model).device_memory().available();
        *free_bytes = available.free;
        *total_bytes = available.total;
      });
    },
    [](quench_model* model, uint64_t bytes, void** memory,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] { *memory = self(model).device_memory().allocate_host(bytes); });
    },
    [](quench_model* model, void* memory) noexcept { self(model).device_memory().release(memory); },
    [](quench_model* model, void* memory, uint64_t bytes, uint32_t flags,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] { self(model).device_memory().pin_host(memory, bytes, flags); });
    },
    [](quench_model* model, void* memory) noexcept {
      self(model).device_memory().unpin_host(memory);
    }};

constexpr quench_model_curvature kCurvature = {
    sizeof(quench_model_curvature),
    [](quench_model* model, const quench_loss_args* args, int32_t kind,
       const quench_tensor* gradient, double* loss, quench_curvature** curvature,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        std::unique_ptr<Curvature> opened = self(model).curvature(*args, kind, gradient);
        *loss = opened->loss();
        *curvature = reinterpret_cast<quench_curvature*>(opened.release());
      });
    },
    [](quench_curvature* curvature, const quench_tensor* v, const quench_tensor* product,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(
          error, [&] { reinterpret_cast<Curvature*>(curvature)->add_product(*v, *product); });
    },
    [](quench_curvature* curvature) noexcept { delete reinterpret_cast<Curvature*>(curvature); }};

constexpr quench_model_vectors kVectors = {
    sizeof(quench_model_vectors),
    [](quench_model* model, double value, const quench_tensor* to, quench_error* error) noexcept
    -> quench_status { return kit::guard(error, [&] { self(model).fill(value, *to); }); },
    [](quench_model* model, uint32_t count, const quench_tensor* vectors,
       const double* coefficients, const quench_tensor* to,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] { self(model).combine({vectors, count}, coefficients, *to); });
    },
    [](quench_model* model, const quench_tensor* a, const quench_tensor* b, double* value,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] { *value = self(model).inner_product(*a, *b); });
    }};

constexpr quench_model_shared_weights kSharedWeights = {
    sizeof(quench_model_shared_weights),
    [](quench_model* model, const quench_tensor* vector, quench_error* error) noexcept
    -> quench_status { return kit::guard(error, [&] { self(model).share_weights(*vector); }); }};

}  // namespace

const void* Decoder::extension(const char* id) const {
  const std::string_view wanted = id;
  if (wanted == QUENCH_MODEL_DEVICE_MEMORY && !device_.is_cpu()) {
    return &kDeviceMemory;
  }
  if (wanted == QUENCH_MODEL_GRADIENT) {
    return &kGradient;
  }
  // Beside a model that is larger than its device there is no room for vectors as long as it.
  if (wanted == QUENCH_MODEL_VECTORS && !weights_.by_block()) {
    return &kVectors;
  }
  if (wanted == QUENCH_MODEL_SHARED_WEIGHTS && !weights_.by_block()) {
    return &kSharedWeights;
  }
  return wanted == QUENCH_MODEL_CURVATURE ? &kCurvature : nullptr;
}

uint32_t Decoder::token_wise_from(uint32_t block) const {
  const BlockPlan& plan = *plans_[block];
  return plan.spec().token_wise_from.value_or(plan.stage_count());
}

void Decoder::weight_get(const std::string& name, const quench_tensor& destination) {
  const c10::InferenceMode mode;
  weights_.get(name, destination);
}

void Decoder::weight_set(const std::string& name, const quench_tensor& value) {
  const c10::InferenceMode mode;
  recorded_stages_.forget();
  weights_.set(name, value);
}

void Decoder::set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                            const quench_linear_op* op) {
  kit::expects(block < linears_.size() && group < linears_[block].size() &&
                   linear < linears_[block][group].size(),
               "set_linear_op: no such linear");
  kit::expects(op == nullptr || op->apply != nullptr, "set_linear_op: an op without apply");
  linears_[block][group][linear].set_op(op,
                                        plans_[block]->info().groups[group].linears[linear].name);
}

void Decoder::set_cache_op(uint32_t block, const quench_cache_op* op) {
  kit::expects(op == nullptr || op->apply != nullptr, "set_cache_op: an op without apply");
  if (!plans_[block]->spec().attends) {
    kit::fail(QUENCH_UNSUPPORTED, "block %u keeps no keys and values of earlier tokens", block);
  }
  cache_ops_[block].set(op);
}

at::Tensor Decoder::attend(uint32_t block, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v, const Batch& batch,
                           const AttentionForm& form) const {
  if (!cache_ops_[block].is_set()) {
    return decoder::attend(q, k, v, batch, form);
  }
  const CacheOp::Kept kept = cache_ops_[block](k, v, batch);
  return decoder::attend(q, kept.keys, kept.values, batch, form);
}

}  // namespace quench::decoder
