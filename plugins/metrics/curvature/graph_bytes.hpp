// The memory of a loss's graph that is differentiated twice.
#pragma once

#include <cstdint>

#include "quench/abi/kind/model.h"

namespace quench::curvature {

// The shapes that the size of the graphs depends on.
struct GraphShapes {
  uint64_t element = 4;  // bytes per number of the model
  uint64_t parameters = 0;
  uint64_t blocks = 0;
  uint64_t width = 0;
  uint64_t vocabulary = 0;
  // Inputs and outputs of a block's linears, per token; the widest block counts.
  uint64_t linear_values = 0;
};
// Reads only info, parameters and blocks of the model.
GraphShapes graph_shapes(const quench_model_table& table, const quench_model* model);

// Bytes of the graphs of `rows` sequences of `length` ids. An estimate that is fitted to gpt_neox
// (float32, double backward): a block keeps each input and output of its linears 4.3 times and its
// scores 2.2 times; two fifths of a block are temporary; logits exist 4 times. Assumes heads of
// width 64, because models do not report it.
uint64_t graph_bytes(const GraphShapes& shapes, uint64_t rows, uint64_t length);

// What vectors over the parameters are made of: the model's elements, float32 of 16-bit ones.
uint64_t vector_bytes(const GraphShapes& shapes);

// Upper bounds of what is in memory at once. They depend on shapes only, because they affect bits.
inline constexpr uint64_t kGraphBytes = uint64_t{4} << 30;
inline constexpr uint64_t kKeptTokens = 16384;

// Sequences per batch: as many as fit in 2048 ids and kGraphBytes, at least one.
uint64_t rows_together(const GraphShapes& shapes, uint64_t length);

// What a BatchLoss holds for its products with the Hessian: the graphs of all `rows` sequences of
// `length` ids if it keeps them, else of one batch. 0 stands for a number that is not known.
uint64_t held_graphs(const GraphShapes& shapes, uint64_t rows, uint64_t length);
// For a gradient or a value: the graph of one batch.
uint64_t passing_graph(const GraphShapes& shapes, uint64_t rows, uint64_t length);

}  // namespace quench::curvature
