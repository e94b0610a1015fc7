// A linear whose weight is looked up in a table: what a quantizer put into the sink as `indices`,
// `table` and `scales`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/pass/quantize_sink.hpp"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/model.h"

namespace quench {

// The weight is scales[i / block] · table[t, indices[i]], with i in C order and t = 0 or the row.
struct Codebook {
  std::span<const uint8_t> indices;  // [out, in], the sink's
  std::vector<double> table;         // [tables, entries]
  std::vector<double> scales;        // [blocks]
  int64_t tables = 1;                // 1, or one for each row
  int64_t entries = 0;
  int64_t block = 0;       // consecutive weights that share a scale; the last may have fewer
  int32_t scale_type = 0;  // QUENCH_SCALES_*
  int64_t table_bits = 0;  // of one entry
  int64_t scale_bits = 0;

  double value(size_t element, int64_t columns) const {
    const size_t row = tables == 1 ? 0 : element / static_cast<size_t>(columns);
    return scales[element / static_cast<size_t>(block)] *
           table[row * static_cast<size_t>(entries) + indices[element]];
  }
  // Bits per weight of indices, table and scales.
  double bits_per_weight() const;
  // `name` must outlive what is returned.
  quench_codebook_linear view(const char* name, const quench_linear_info& linear) const;
};

// Nothing where the sink has no `indices` with a `table`. Throws Error(UNSUPPORTED) naming the
// linear and the tensor for shapes and types that quench_quantize_sink does not describe, an index
// beyond the table, and values that are not finite. The sink must outlive it.
std::optional<Codebook> codebook_of(const QuantizeSink& sink, const quench_linear_info& linear);

}  // namespace quench
