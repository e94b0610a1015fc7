// A model in training: its weights as one flat vector, their gradient, and the optimizer. The
// vectors lie in the memory of the model's device where family and optimizer can work on them
// there, else in host memory: each step then takes the gradient there and the weights back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/handles/optimizer_handle.hpp"
#include "quench/abi/extension/gradients.h"
#include "train/flat_vector.hpp"
#include "train/recipe.hpp"
#include "train/trained_states.hpp"
#include "train/training_batches.hpp"

namespace quench {

class TrainingModel {
 public:
  // Draws the weights from the recipe's seed. Throws Error: what the family reports about the
  // config, and UNSUPPORTED if it can neither draw weights nor compute gradients.
  TrainingModel(Catalog& catalog, const TrainingRecipe& recipe);
  // Continues from a state. Throws like the other one, and Error(DATA_LOSS) if it does not fit.
  TrainingModel(Catalog& catalog, const TrainingRecipe& recipe, const TrainedStates& states,
                const std::string& key);

  const std::vector<FlatParameter>& parameters() const { return parameters_; }
  uint64_t size() const { return weights_->size(); }
  // Whether weights, gradient and the optimizer's state are in the memory of the model's device.
  bool is_on_device() const { return on_device_ != nullptr; }
  // Whether the model computes with the stepped weights themselves and keeps no copy of them.
  bool shares_weights() const { return shares_weights_; }
  // As training_flops_per_token().
  double flops_per_token() const;

  // Floating-point operations per second that this machine reaches in matrix products, if the
  // family measures it.
  std::optional<double> product_rate();

  // The gradient from which step `number` is made: `batch` adds that of the step's mean nll by
  // accumulate() and returns the loss. It is called once, at the weights, or as often as the
  // optimizer asks, each time at the weights that it chose. Returns the first loss. If `batch`
  // throws, only what is saved of the model can be used any more.
  double gradient(int64_t number, const std::function<double()>& batch);
  // How often the last gradient() called `batch`.
  uint64_t evaluations() const { return evaluations_; }
  // Adds the gradient of weight · Σ nll of the batch to the gradient; returns Σ nll in nats.
  double accumulate(const IdBatch& batch, double weight);
  // Returns the norm of the accumulated gradient, applies the update, clipped to `clip`, and zeroes
  // the gradient. Throws Error(NUMERICAL) if the norm is not finite.
  double step(int64_t number, double lr);
  // Σ nll of the batch with the evaluated weights.
  double evaluate(const IdBatch& batch);

  // The weights to evaluate and save, in host memory; valid until the next step.
  std::span<const float> evaluated();
  // What save_optimizer() writes.
  std::vector<TensorInfo> state_tensors();
  void save_optimizer(TrainedStates& states, const std::string& key);

 private:
  TrainingModel(Catalog& catalog, const TrainingRecipe& recipe, const quench_source* source);
  // Begins the optimizer where the vectors are to be, and settles where that is.
  void begin(Catalog& catalog);
  // Takes the model's weights as the stepped ones. If both are on the device, the model computes
  // from then on with these, or, where it computes with others, too, with those of placed_.
  void take_weights();
  bool share(const FlatVector& vector);
  double loss_of(const IdBatch& batch, double weight, const quench_tensor* gradient);
  // The part of a flat vector that belongs to a parameter.
  quench_tensor part_of(const quench_tensor& vector, size_t parameter) const;
  // Has the model compute with the weights of a flat vector in the memory of the others.
  void put_weights(const quench_tensor& vector);
  const FlatVector& made_evaluated();
  void load_optimizer(const TrainedStates& states, const std::string& key);

  const TrainingRecipe& recipe_;
  ModelHandle model_;
  const quench_model_gradient* gradients_ = nullptr;
  OptimizerHandle optimizer_;
  std::vector<FlatParameter> parameters_;
  std::vector<std::vector<int64_t>> strides_;        // strides of parameters_
  const quench_model_vectors* on_device_ = nullptr;  // null: the vectors are in host memory
  std::optional<FlatVector> weights_;                // the stepped weights
  bool shares_weights_ = false;
  std::optional<FlatVector>
      placed_;  // what the model computes with, if that is a vector of its own
  std::optional<FlatVector> gradient_;
  const quench_tensor* named_ = nullptr;  // where accumulate() adds in place of gradient_
  uint64_t evaluations_ = 0;
  std::optional<FlatVector> evaluated_;  // nothing if they equal the stepped weights
  bool evaluated_is_current_ = false;
};

}  // namespace quench
