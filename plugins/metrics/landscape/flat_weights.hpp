// Sets of weights as flat vectors in the order of the model's parameters, read in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::metrics {

// A set of weights that can be read in any order. [thread-safe]
class FlatWeights {
 public:
  virtual ~FlatWeights() = default;
  // Reads elements first .. first+count-1 of the flat vector as float64, which represents every
  // stored value exactly. The range must lie within one parameter.
  virtual void read(uint64_t first, uint64_t count, double* out) const = 0;
};

// A piece of the flat vector that lies within one parameter.
struct Piece {
  uint64_t first;
  uint64_t count;
};
// Cuts all parameters into pieces of at most `longest` elements.
std::vector<Piece> pieces_of(const quench_model_table& table, quench_model* model,
                             uint64_t longest);
// The number of elements in the flat vector.
uint64_t parameter_count(const quench_model_table& table, const quench_model* model);

// The weights of a checkpoint, borrowed. Throws NOT_FOUND for a missing parameter and
// INVALID_ARGUMENT for one with another shape.
std::unique_ptr<FlatWeights> stored_weights(const quench_model_table& table, quench_model* model,
                                            const quench_weights& weights);
// A copy of the model's current weights, float32 or float64 as the model runs.
std::unique_ptr<FlatWeights> current_weights(const quench_model_table& table, quench_model* model);

// Reads every parameter of the model into a flat vector of float32 or float64, which lies on
// `device`, or sets them from it.
template <typename T>
void get_weights(const quench_model_table& table, quench_model* model, std::span<T> flat,
                 quench_device device);
template <typename T>
void set_weights(const quench_model_table& table, quench_model* model, std::span<const T> flat,
                 quench_device device);

}  // namespace quench::metrics
