// How much memory the graph of a loss takes that is differentiated twice.
#pragma once

#include <cstdint>

#include "quench/abi/kind/model.h"

namespace quench::curvature {

// What the graphs' size depends on.
struct GraphShapes {
  uint64_t element = 4;  // bytes of one of the model's numbers
  uint64_t parameters = 0;
  uint64_t blocks = 0;
  uint64_t width = 0;
  uint64_t vocabulary = 0;
  // Inputs and outputs of a block's linears, per token; of the widest block.
  uint64_t linear_values = 0;
};
// Asks for info, parameters and blocks alone.
GraphShapes graph_shapes(const quench_model_table& table, const quench_model* model);

// The graphs of `rows` sequences of `length` ids. An estimate, fitted to gpt_neox
// (float32, double backward): a block keeps every input and output of its linears 4.3 times and its
// scores 2.2 times, two fifths of a block are temporary, and logits exist 4 times. Heads are taken
// to be 64 wide, since models do not say.
uint64_t graph_bytes(const GraphShapes& shapes, uint64_t rows, uint64_t length);

// Bounds of what is in memory at once. They follow from shapes, since they decide over bits.
inline constexpr uint64_t kGraphBytes = uint64_t{4} << 30;
inline constexpr uint64_t kKeptTokens = 16384;

// Sequences of one batch: as many as 2048 ids hold, and kGraphBytes, at least one.
uint64_t rows_together(const GraphShapes& shapes, uint64_t length);

}  // namespace quench::curvature
