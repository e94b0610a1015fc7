#include "train/training_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/arithmetic/gradient_clipping.hpp"
#include "core/checkpoint/abi_source.hpp"
#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/services/host_services.hpp"
#include "train/host_view.hpp"
#include "train/training_flops.hpp"

namespace quench {

namespace {

ModelHandle open(Catalog& catalog, const TrainingRecipe& recipe, const quench_source* source) {
  HostServices::instance().set_seed(recipe.seed);
  return ModelHandle::open(
      catalog, *recipe.family,
      {sizeof(quench_model_open_args), source == nullptr ? QUENCH_OPEN_INITIALIZE : 0u, source,
       recipe.config.data(), recipe.config.size(), recipe.device, kFloat32});
}

// Weights of matrices decay; scales, shifts and biases do not.
bool decays(int32_t role) {
  return role == QUENCH_ROLE_MATRIX || role == QUENCH_ROLE_EMBEDDING || role == QUENCH_ROLE_HEAD;
}

uint64_t product(std::span<const int64_t> shape) {
  uint64_t out = 1;
  for (const int64_t size : shape) {
    out *= static_cast<uint64_t>(size);
  }
  return out;
}

}  // namespace

TrainingModel::TrainingModel(Catalog& catalog, const TrainingRecipe& recipe,
                             const quench_source* source)
    : recipe_(recipe),
      model_(open(catalog, recipe, source)),
      optimizer_(catalog, *recipe.optimizer.plugin, recipe.optimizer.parameters) {
  gradients_ = static_cast<const quench_model_gradient*>(model_.extension(QUENCH_MODEL_GRADIENT));
  if (gradients_ == nullptr || gradients_->struct_size < sizeof *gradients_ ||
      gradients_->gradient == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: has no {} and cannot be trained", model_.label(),
         QUENCH_MODEL_GRADIENT);
  }
  uint64_t elements = 0;
  for (const quench_parameter_info& info : model_.parameters()) {
    const std::vector<int64_t> shape(info.shape, info.shape + info.dimensions);
    parameters_.push_back({info.name, info.role, shape, info.offset, product(shape)});
    elements = std::max(elements, info.offset + parameters_.back().elements);
    std::vector<int64_t> strides(shape.size());
    int64_t step = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = step;
      step *= shape[d];
    }
    strides_.push_back(std::move(strides));
  }
  begin(catalog);
  weights_.emplace(model_, on_device_, elements);
  gradient_.emplace(model_, on_device_, elements);
  if (optimizer_.evaluates_other()) {
    evaluated_.emplace(model_, on_device_, elements);
  }
  take_weights();
}

bool TrainingModel::share(const FlatVector& vector) {
  const auto* table = static_cast<const quench_model_shared_weights*>(
      model_.extension(QUENCH_MODEL_SHARED_WEIGHTS));
  if (table == nullptr || table->struct_size < sizeof *table || table->share == nullptr) {
    return false;
  }
  const quench_tensor view = vector.view();
  call<&quench_model_shared_weights::share>(model_.label(), *table, {}, model_.get(), &view);
  return true;
}

void TrainingModel::take_weights() {
  if (on_device_ != nullptr && !optimizer_.evaluates_other() && !optimizer_.takes_closure()) {
    shares_weights_ = share(*weights_);
  } else if (on_device_ != nullptr) {
    placed_.emplace(model_, on_device_, size());
    if (share(*placed_)) {
      model_.copy(placed_->view(), weights_->view());
      return;
    }
    placed_.reset();
  }
  for (size_t i = 0; i < parameters_.size() && !shares_weights_; ++i) {
    model_.weight_get(parameters_[i].name, part_of(weights_->view(), i));
  }
}

void TrainingModel::begin(Catalog& catalog) {
  const quench_device device = model_.info().device;
  std::string reason;
  if (device.type == QUENCH_DEVICE_CPU) {
    optimizer_.begin(model_.parameters(), device);
    return;
  }
  if (device_vectors(model_) == nullptr) {
    reason = model_.label() + ": has no vectors on its device";
  } else if (catalog.placed(*recipe_.optimizer.plugin).placement == Placement::kOwn) {
    reason = optimizer_.label() + ": runs in a process of its own";
  } else {
    try {
      optimizer_.begin(model_.parameters(), device);
      on_device_ = device_vectors(model_);
      return;
    } catch (const Error& error) {
      if (error.code() != QUENCH_UNSUPPORTED) {
        throw;
      }
      reason = error.what();
    }
  }
  HostServices::instance().log(QUENCH_LOG_INFO, "", "steps are made in host memory: " + reason);
  optimizer_.begin(model_.parameters(), {QUENCH_DEVICE_CPU, 0});
}

TrainingModel::TrainingModel(Catalog& catalog, const TrainingRecipe& recipe)
    : TrainingModel(catalog, recipe, nullptr) {}

TrainingModel::TrainingModel(Catalog& catalog, const TrainingRecipe& recipe,
                             const TrainedStates& states, const std::string& key)
    : TrainingModel(catalog, recipe,
                    AbiSource(open_safetensors_folder(states.weights_path(key)).source).get()) {
  load_optimizer(states, key);
  if (optimizer_.evaluates_other()) {
    put_weights(weights_->view());
  }
}

quench_tensor TrainingModel::part_of(const quench_tensor& vector, size_t parameter) const {
  const FlatParameter& of = parameters_[parameter];
  return {static_cast<float*>(vector.data) + of.offset,
          vector.device,
          static_cast<int32_t>(of.shape.size()),
          kFloat32,
          of.shape.data(),
          strides_[parameter].data(),
          0};
}

void TrainingModel::put_weights(const quench_tensor& vector) {
  if (placed_) {
    model_.copy(vector, placed_->view());
    return;
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    model_.weight_set(parameters_[i].name, part_of(vector, i));
  }
}

// If evaluated and stepped weights differ, the stepped ones are part of the state.
std::vector<TensorInfo> TrainingModel::state_tensors() {
  std::vector<TensorInfo> out = optimizer_.state();
  if (optimizer_.evaluates_other()) {
    for (const FlatParameter& parameter : parameters_) {
      out.push_back({"stepped/" + parameter.name, kFloat32, parameter.shape, out.size()});
    }
  }
  return out;
}

void TrainingModel::load_optimizer(const TrainedStates& states, const std::string& key) {
  const std::vector<TensorInfo> tensors = state_tensors();
  const size_t stepped = tensors.size() - (optimizer_.evaluates_other() ? parameters_.size() : 0);
  states.load_optimizer(key, tensors, [&](size_t i, const void* bytes) {
    if (i < stepped) {
      optimizer_.set_state(i, tensors[i], bytes);
    } else {
      const FlatParameter& of = parameters_[i - stepped];
      weights_->write(of.offset, {static_cast<const float*>(bytes), of.elements});
    }
  });
}

void TrainingModel::save_optimizer(TrainedStates& states, const std::string& key) {
  const std::vector<TensorInfo> tensors = state_tensors();
  const size_t stepped = tensors.size() - (optimizer_.evaluates_other() ? parameters_.size() : 0);
  const std::span<const float> weights =
      optimizer_.evaluates_other() ? weights_->read() : std::span<const float>();
  states.save_optimizer(key, tensors, [&](size_t i, void* bytes) {
    if (i < stepped) {
      optimizer_.get_state(i, tensors[i], bytes);
    } else {
      const FlatParameter& of = parameters_[i - stepped];
      std::memcpy(bytes, &weights[of.offset], of.elements * sizeof(float));
    }
  });
}

double TrainingModel::flops_per_token() const {
  return training_flops_per_token(model_, static_cast<uint64_t>(recipe_.length));
}

std::optional<double> TrainingModel::product_rate() {
  try {
    const double rate = model_.product_rate(recipe_.bfloat16 ? QUENCH_LOSS_AUTOCAST_BFLOAT16 : 0u);
    return rate > 0 ? std::optional(rate) : std::nullopt;
  } catch (const Error& failure) {
    if (failure.code() != QUENCH_UNSUPPORTED) {
      throw;
    }
    return std::nullopt;
  }
}

double TrainingModel::loss_of(const IdBatch& batch, double weight, const quench_tensor* gradient) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(batch.sequences),
                                      static_cast<int64_t>(recipe_.length)};
  const HostView inputs(batch.inputs.data(), kInt32, shape);
  const HostView targets(batch.targets.data(), kInt32, shape);
  const quench_tensor tokens = inputs.get();
  const quench_tensor wanted = targets.get();
  const quench_batch ids = {sizeof(quench_batch), 0, &tokens, nullptr, nullptr};
  const quench_loss_args args = {sizeof(quench_loss_args),
                                 recipe_.bfloat16 ? QUENCH_LOSS_AUTOCAST_BFLOAT16 : 0u,
                                 &ids,
                                 &wanted,
                                 weight,
                                 nullptr};
  double loss = 0;
  call<&quench_model_gradient::gradient>(model_.label(), *gradients_, {}, model_.get(), &args,
                                         gradient, &loss);
  return loss;
}

double TrainingModel::gradient(int64_t number, const std::function<double()>& batch) {
  evaluations_ = 0;
  std::optional<double> first;
  const auto evaluate = [&] {
    const double loss = batch();
    ++evaluations_;
    first = first.value_or(loss);
    return loss;
  };
  if (!optimizer_.takes_closure()) {
    return evaluate();
  }
  optimizer_.gradient(
      static_cast<uint64_t>(number), weights_->view(),
      [&](const quench_tensor& weights, const quench_tensor& gradient) {
        put_weights(weights);
        clear(model_, on_device_, gradient);
        named_ = &gradient;
        const double loss = evaluate();
        named_ = nullptr;
        return loss;
      },
      gradient_->view());
  return *first;
}

double TrainingModel::accumulate(const IdBatch& batch, double weight) {
  const quench_tensor to = named_ == nullptr ? gradient_->view() : *named_;
  return loss_of(batch, weight, &to);
}

double TrainingModel::step(int64_t number, double lr) {
  const double norm = gradient_->norm();
  if (!std::isfinite(norm)) {
    fail(QUENCH_NUMERICAL, "the norm of the gradient is {}", norm);
  }
  const double scale = clip_factor(norm, recipe_.clip);
  std::vector<quench_tensor> weights;
  std::vector<quench_tensor> gradients;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    weights.push_back(part_of(weights_->view(), i));
    gradients.push_back(part_of(gradient_->view(), i));
  }
  std::vector<quench_step_args> steps;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    steps.push_back({sizeof(quench_step_args), 0, i, static_cast<uint64_t>(number), lr,
                     recipe_.peak, decays(parameters_[i].role) ? 1 : 0, &weights[i], &gradients[i],
                     nullptr, scale});
  }
  optimizer_.step(steps);
  if (!shares_weights_) {
    put_weights(weights_->view());
  }
  gradient_->clear();
  evaluated_is_current_ = false;
  return norm;
}

const FlatVector& TrainingModel::made_evaluated() {
  if (!evaluated_is_current_) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      optimizer_.evaluation_weights(i, part_of(weights_->view(), i),
                                    part_of(evaluated_->view(), i));
    }
    evaluated_is_current_ = true;
  }
  return *evaluated_;
}

std::span<const float> TrainingModel::evaluated() {
  if (!optimizer_.evaluates_other()) {
    return weights_->read();
  }
  made_evaluated();
  return evaluated_->read();
}

double TrainingModel::evaluate(const IdBatch& batch) {
  if (!optimizer_.evaluates_other()) {
    return loss_of(batch, 1, nullptr);
  }
  put_weights(made_evaluated().view());
  const double loss = loss_of(batch, 1, nullptr);
  put_weights(weights_->view());
  return loss;
}

}  // namespace quench
