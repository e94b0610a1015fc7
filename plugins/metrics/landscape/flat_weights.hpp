// Sets of weights as flat vectors in the order of the model's parameters, read piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::metrics {

// A set of weights that can be read in any order. [thread-safe]
class FlatWeights {
 public:
  virtual ~FlatWeights() = default;
  // Elements first .. first+count-1 of the flat vector as float64, which holds every stored value
  // exactly. The range lies within one parameter.
  virtual void read(uint64_t first, uint64_t count, double* out) const = 0;
};

// A piece of the flat vector that lies within one parameter.
struct Piece {
  uint64_t first;
  uint64_t count;
};
// All parameters in pieces of at most `longest` elements.
std::vector<Piece> pieces_of(const quench_model_table& table, quench_model* model,
                             uint64_t longest);
// Elements of the flat vector.
uint64_t parameter_count(const quench_model_table& table, quench_model* model);

// Weights of a checkpoint, borrowed. NOT_FOUND names a parameter that it does not have,
// INVALID_ARGUMENT one of another shape.
std::unique_ptr<FlatWeights> stored_weights(const quench_model_table& table, quench_model* model,
                                            const quench_weights& weights);
// A copy of what the model holds now, float32 or float64 as the model runs.
std::unique_ptr<FlatWeights> current_weights(const quench_model_table& table, quench_model* model);

// Sets every parameter of the model from a flat vector of float32 or float64.
template <typename T>
void set_weights(const quench_model_table& table, quench_model* model, const std::vector<T>& flat);

}  // namespace quench::metrics
