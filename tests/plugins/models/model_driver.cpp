#include "tests/plugins/models/model_driver.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "quench/abi/extension/gradients.h"
#include "quench/kit/torch.hpp"
#include "tests/plugins/models/linked_family.hpp"

namespace quench::test {

namespace {

// Calls `function(..., &error)` and throws what it reports.
template <typename Function>
void checked(Function&& function) {
  quench_error error{sizeof error, 0, {}};
  kit::check(function(&error), error);
}

// A quench_batch and the views it points to.
class BatchView {
 public:
  explicit BatchView(const Tokens& tokens) : shape_{tokens.rows, tokens.length} {
    ids_ = view(tokens.ids);
    batch_ = {sizeof batch_, 0, &ids_, nullptr, nullptr};
    if (!tokens.positions.empty()) {
      positions_ = view(tokens.positions);
      batch_.positions = &positions_;
    }
    if (!tokens.segments.empty()) {
      segments_ = view(tokens.segments);
      batch_.segments = &segments_;
    }
  }
  BatchView(const BatchView&) = delete;
  BatchView& operator=(const BatchView&) = delete;
  const quench_batch* get() const { return &batch_; }

 private:
  quench_tensor view(const std::vector<int32_t>& values) const {
    return {const_cast<int32_t*>(values.data()),
            {QUENCH_DEVICE_CPU, 0},
            2,
            kit::kInt32,
            shape_,
            nullptr,
            0};
  }
  int64_t shape_[2];
  quench_tensor ids_{};
  quench_tensor positions_{};
  quench_tensor segments_{};
  quench_batch batch_{};
};

}  // namespace

ModelDriver::ModelDriver(const std::string& config, const quench_source* source, quench_dtype dtype,
                         quench_device device)
    : ModelDriver(linked_family(config), config, source, dtype, device) {}

ModelDriver::ModelDriver(const quench_model_table& family, const std::string& config,
                         const quench_source* source, quench_dtype dtype, quench_device device)
    : table_(&family) {
  const quench_model_open_args args = {sizeof args,   0,      source, config.data(),
                                       config.size(), device, dtype};
  open(args);
}

ModelDriver::ModelDriver(const std::string& config, quench_dtype dtype, quench_device device)
    : table_(&linked_family(config)) {
  open({sizeof(quench_model_open_args), QUENCH_OPEN_INITIALIZE, nullptr, config.data(),
        config.size(), device, dtype});
}

void ModelDriver::open(const quench_model_open_args& args) {
  checked([&](quench_error* error) { return table_->open(&args, &model_, error); });
}

ModelDriver::~ModelDriver() {
  table_->close(model_);
}

quench_model_info ModelDriver::info() const {
  quench_model_info found{};
  found.struct_size = sizeof found;
  checked([&](quench_error* error) { return table_->info(model_, &found, error); });
  return found;
}

const quench_block_info& ModelDriver::block(uint32_t block) const {
  const quench_block_info* found = nullptr;
  checked([&](quench_error* error) { return table_->block(model_, block, &found, error); });
  return *found;
}

at::Tensor ModelDriver::made(at::IntArrayRef shape, at::ScalarType type) const {
  const quench_device device = info().device;
  return device.type == QUENCH_DEVICE_CPU
             ? kit::host_empty(shape, type)
             : at::empty(shape, at::TensorOptions(type).device(kit::torch_device(device)));
}

at::Tensor ModelDriver::embed(const Tokens& tokens) {
  const BatchView batch(tokens);
  const at::Tensor h =
      made({tokens.rows * tokens.length, info().width}, kit::scalar_type(info().dtype));
  const quench_tensor view = kit::view_of(h);
  const quench_embed_args args = {sizeof args, 0, batch.get(), &view, nullptr};
  checked([&](quench_error* error) { return table_->embed(model_, &args, error); });
  return h;
}

at::Tensor ModelDriver::run_block(uint32_t index, const Tokens& tokens, const at::Tensor& h,
                                  Storage storage, const Watch& watch) {
  const BatchView batch(tokens);
  std::vector<at::Tensor> carried = {h};
  std::vector<std::string> names = {"h"};
  for (uint32_t stage = 0; stage < block(index).stage_count; ++stage) {
    const quench_carry_info* wanted = nullptr;
    uint32_t count = 0;
    checked([&](quench_error* error) {
      return table_->carry(model_, index, stage + 1, &wanted, &count, error);
    });
    std::vector<at::Tensor> next;
    std::vector<std::string> next_names;
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t rows = tokens.rows * tokens.length * wanted[i].rows_per_token;
      next_names.emplace_back(wanted[i].name);
      const auto same = std::find(names.begin(), names.end(), next_names.back());
      const size_t place = static_cast<size_t>(same - names.begin());
      const bool reuse = storage == Storage::kShared && same != names.end() &&
                         carried[place].size(0) == rows &&
                         carried[place].size(1) == wanted[i].width;
      next.push_back(reuse ? carried[place]
                           : made({rows, wanted[i].width}, kit::scalar_type(wanted[i].dtype)));
    }
    std::vector<quench_tensor> in;
    std::vector<quench_tensor> out;
    std::transform(carried.begin(), carried.end(), std::back_inserter(in), kit::view_of);
    std::transform(next.begin(), next.end(), std::back_inserter(out), kit::view_of);
    const quench_stage_args args = {
        sizeof args, 0,         index,      stage,  batch.get(), static_cast<uint32_t>(in.size()),
        count,       in.data(), out.data(), nullptr};
    checked([&](quench_error* error) { return table_->stage(model_, &args, error); });
    carried = next;
    names = next_names;
    if (watch) {
      watch(stage, carried);
    }
  }
  return carried[0];
}

at::Tensor ModelDriver::forward(const Tokens& tokens, Storage storage,
                                std::vector<at::Tensor>* outputs) {
  at::Tensor h = embed(tokens);
  for (uint32_t i = 0; i < info().blocks; ++i) {
    h = run_block(i, tokens, h, storage);
    if (outputs != nullptr) {
      outputs->push_back(h.clone());
    }
  }
  return h;
}

at::Tensor ModelDriver::logits(const at::Tensor& h) {
  const at::Tensor logits = made({h.size(0), info().vocabulary}, h.scalar_type());
  const quench_tensor from = kit::view_of(h);
  const quench_tensor to = kit::view_of(logits);
  checked([&](quench_error* error) { return table_->logits(model_, &from, &to, nullptr, error); });
  return logits;
}

std::vector<double> ModelDriver::nll(const at::Tensor& h, std::vector<int32_t> targets,
                                     std::vector<int32_t>* argmax) {
  const auto count = static_cast<int64_t>(targets.size());
  std::vector<double> losses(targets.size());
  const quench_device cpu = {QUENCH_DEVICE_CPU, 0};
  const quench_tensor from = kit::view_of(h);
  const quench_tensor wanted = {targets.data(), cpu, 1, kit::kInt32, &count, nullptr, 0};
  const quench_tensor nll = {losses.data(), cpu, 1, kit::kFloat64, &count, nullptr, 0};
  quench_tensor best{};
  if (argmax != nullptr) {
    argmax->resize(targets.size());
    best = {argmax->data(), cpu, 1, kit::kInt32, &count, nullptr, 0};
  }
  const quench_head_args args = {
      sizeof args, 0, &from, &wanted, &nll, argmax != nullptr ? &best : nullptr, nullptr};
  checked([&](quench_error* error) { return table_->token_nll(model_, &args, error); });
  return losses;
}

std::vector<int32_t> next_ids(const Tokens& tokens) {
  std::vector<int32_t> targets(tokens.ids.begin() + 1, tokens.ids.end());
  targets.push_back(-1);
  for (int64_t row = 1; row <= tokens.rows; ++row) {
    targets[static_cast<size_t>(row * tokens.length - 1)] = -1;
  }
  return targets;
}

std::vector<double> ModelDriver::next_id_nll(const Tokens& tokens) {
  return nll(forward(tokens), next_ids(tokens));
}

namespace {

// A quench_loss_args and what it points to.
struct LossView {
  LossView(const Tokens& tokens, const std::vector<int32_t>& targets, double weight, uint32_t flags)
      : batch(tokens),
        shape{tokens.rows, tokens.length},
        wanted{const_cast<int32_t*>(targets.data()),
               {QUENCH_DEVICE_CPU, 0},
               2,
               kit::kInt32,
               shape,
               nullptr,
               0},
        args{sizeof args, flags, batch.get(), &wanted, weight, nullptr} {}
  LossView(const LossView&) = delete;
  LossView& operator=(const LossView&) = delete;

  BatchView batch;
  int64_t shape[2];
  quench_tensor wanted;
  quench_loss_args args;
};

}  // namespace

double ModelDriver::gradient(const Tokens& tokens, const std::vector<int32_t>& targets,
                             const at::Tensor& into, double weight, uint32_t flags) {
  const auto* extension =
      static_cast<const quench_model_gradient*>(table_->extension(model_, QUENCH_MODEL_GRADIENT));
  const LossView loss(tokens, targets, weight, flags);
  quench_tensor view{};
  if (into.defined()) {
    view = kit::view_of(into);
  }
  double value = 0;
  checked([&](quench_error* error) {
    return extension->gradient(model_, &loss.args, into.defined() ? &view : nullptr, &value, error);
  });
  return value;
}

std::vector<at::Tensor> ModelDriver::products(const Tokens& tokens,
                                              const std::vector<int32_t>& targets, int32_t kind,
                                              const std::vector<at::Tensor>& vectors,
                                              at::Tensor* gradient, double* loss, double weight) {
  const auto* extension =
      static_cast<const quench_model_curvature*>(table_->extension(model_, QUENCH_MODEL_CURVATURE));
  const LossView args(tokens, targets, weight, 0);
  quench_tensor view{};
  if (gradient != nullptr) {
    view = kit::view_of(*gradient);
  }
  double value = 0;
  quench_curvature* opened = nullptr;
  checked([&](quench_error* error) {
    return extension->open(model_, &args.args, kind, gradient != nullptr ? &view : nullptr, &value,
                           &opened, error);
  });
  const std::unique_ptr<quench_curvature, decltype(extension->close)> held(opened,
                                                                           extension->close);
  if (loss != nullptr) {
    *loss = value;
  }
  std::vector<at::Tensor> out;
  for (const at::Tensor& vector : vectors) {
    out.push_back(at::zeros_like(vector));
    const quench_tensor from = kit::view_of(vector);
    const quench_tensor to = kit::view_of(out.back());
    checked([&](quench_error* error) { return extension->product(opened, &from, &to, error); });
  }
  return out;
}

std::vector<quench_parameter_info> ModelDriver::parameter_infos() const {
  const quench_parameter_info* infos = nullptr;
  uint64_t count = 0;
  checked([&](quench_error* error) { return table_->parameters(model_, &infos, &count, error); });
  return {infos, infos + count};
}

at::Tensor ModelDriver::parameters() {
  std::vector<at::Tensor> parts;
  for (const quench_parameter_info& info : parameter_infos()) {
    parts.push_back(weight(info.name, at::kDouble).view({-1}));
  }
  return at::cat(parts);
}

void ModelDriver::set_parameters(const at::Tensor& vector) {
  for (const quench_parameter_info& info : parameter_infos()) {
    const at::IntArrayRef shape(info.shape, static_cast<size_t>(info.dimensions));
    const int64_t count = c10::multiply_integers(shape);
    set_weight(info.name, vector.narrow(0, static_cast<int64_t>(info.offset), count).view(shape));
  }
}

at::Tensor ModelDriver::weight(const std::string& name, at::ScalarType type) {
  const quench_parameter_info* infos = nullptr;
  uint64_t count = 0;
  checked([&](quench_error* error) { return table_->parameters(model_, &infos, &count, error); });
  for (uint64_t i = 0; i < count; ++i) {
    const auto named = [&](const char* alias) { return name == alias; };
    if (named(infos[i].name) ||
        std::any_of(infos[i].aliases, infos[i].aliases + infos[i].alias_count, named)) {
      const at::Tensor value =
          kit::host_empty({infos[i].shape, static_cast<size_t>(infos[i].dimensions)}, type);
      const quench_tensor view = kit::view_of(value);
      checked([&](quench_error* error) {
        return table_->weight_get(model_, name.c_str(), &view, error);
      });
      return value;
    }
  }
  kit::fail(QUENCH_NOT_FOUND, "%s", name.c_str());
}

void ModelDriver::set_weight(const std::string& name, const at::Tensor& value) {
  const quench_tensor view = kit::view_of(value);
  checked(
      [&](quench_error* error) { return table_->weight_set(model_, name.c_str(), &view, error); });
}

uint64_t ModelDriver::generation(const std::string& name) const {
  uint64_t found = 0;
  checked([&](quench_error* error) {
    return table_->weight_generation(model_, name.c_str(), &found, error);
  });
  return found;
}

void ModelDriver::set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                                const quench_linear_op* op) {
  checked([&](quench_error* error) {
    return table_->set_linear_op(model_, block, group, linear, op, error);
  });
}

void ModelDriver::set_cache_op(uint32_t block, const quench_cache_op* op) {
  checked([&](quench_error* error) { return table_->set_cache_op(model_, block, op, error); });
}

double ModelDriver::block_gradient(uint32_t block, const Tokens& tokens, const at::Tensor& h,
                                   const at::Tensor& goal, bool is_slope,
                                   const std::vector<std::string>& names,
                                   const std::vector<at::Tensor>& into, double weight) {
  const BatchView batch(tokens);
  const quench_tensor h_view = kit::view_of(h);
  const quench_tensor goal_view = kit::view_of(goal);
  std::vector<const char*> texts;
  std::vector<quench_tensor> views;
  for (size_t i = 0; i < names.size(); ++i) {
    texts.push_back(names[i].c_str());
    views.push_back(kit::view_of(into[i]));
  }
  const quench_block_gradient_args args = {sizeof args,
                                           0,
                                           block,
                                           static_cast<uint32_t>(names.size()),
                                           batch.get(),
                                           &h_view,
                                           is_slope ? nullptr : &goal_view,
                                           is_slope ? &goal_view : nullptr,
                                           weight,
                                           texts.data(),
                                           views.data(),
                                           nullptr};
  double loss = 0;
  checked([&](quench_error* error) { return table_->block_gradient(model_, &args, &loss, error); });
  return loss;
}

}  // namespace quench::test
