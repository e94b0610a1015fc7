// Writes linears that are looked up in the elements of a float of 4 to 8 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/compressed-tensors/float_layout.hpp"
#include "quench/kit/format.hpp"

namespace quench::formats {

// All linears of a folder. Those of nvfp4 come with the products of both levels of their scales,
// which are taken apart again; a scale is then the quotient that readers compute.
class FloatWriter {
 public:
  explicit FloatWriter(std::string format) : format_(std::move(format)) {}

  // Name of the first linear, or "".
  const std::string& first() const { return first_; }
  // As quench_format_table's store_codebook and finish.
  void store(const quench_codebook_linear& linear, const kit::FormatSink& sink,
             std::span<float> weight, quench_stored_linear& stored);
  void finish(const kit::FloatLinears& left, const kit::FormatSink& sink) const;

 private:
  struct Stored {
    std::string name;
    int64_t in;
    FloatScheme scheme;
  };

  FloatScheme common_scheme() const;

  std::string format_;
  std::string first_;
  std::vector<Stored> linears_;
};

}  // namespace quench::formats
