// What writers of packed weights have in common: the scheme of each linear, its grid rounded to
// what the file holds, and the one scheme of the folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/packed/scheme.hpp"
#include "quench/kit/format.hpp"

namespace quench::formats {

// The scheme that codes and groups show: symmetric where every zero is the middle of the grid,
// ordered where groups are not runs of columns.
Scheme scheme_of(const quench_coded_linear& linear);

// Scales as float16 holds them, rounded to nearest.
struct HalfScales {
  std::vector<uint16_t> bits;  // [out, groups]
  std::vector<float> values;   // the same
};
// Counts in `stored` what changed. Throws kit::Error(NUMERICAL) for a scale beyond float16.
HalfScales round_scales(const quench_coded_linear& linear, quench_stored_linear& stored);
// Counts a scale that the file holds as another one.
void note_change(quench_stored_linear& stored, double before, double after);
// scale · (code − zero) in float32, as readers of these files compute it.
void dequantize(const quench_coded_linear& linear, const HalfScales& scales,
                std::span<float> weight);

// [groups, out] out of [out, groups].
template <typename T, typename From>
std::vector<T> by_group(const quench_coded_linear& linear, const From* values) {
  const auto out = static_cast<size_t>(linear.out);
  const auto groups = static_cast<size_t>(linear.groups);
  std::vector<T> turned(out * groups);
  for (size_t r = 0; r < out; ++r) {
    for (size_t g = 0; g < groups; ++g) {
      turned[g * out + r] = static_cast<T>(values[r * groups + g]);
    }
  }
  return turned;
}

// Derived formats say what they hold and put the tensors.
class PackedWriter : public kit::FormatWriter {
 public:
  void store(const quench_coded_linear& linear, const kit::FormatSink& sink,
             std::span<float> weight, quench_stored_linear& stored) final;
  void finish(const kit::FloatLinears& left, const kit::FormatSink& sink) final;

 protected:
  struct Stored {
    std::string name;
    int64_t in = 0;
    Scheme scheme;
  };

  explicit PackedWriter(std::string format) : format_(std::move(format)) {}

  // Why it cannot hold this, or "": "3 bits; awq holds 4". `out` 0: no shape is given.
  virtual std::string fault(const Scheme& scheme, int64_t out, int64_t in) const = 0;
  // The tensors and the weight that reading them gives.
  virtual void put(const quench_coded_linear& linear, const Scheme& scheme,
                   const kit::FormatSink& sink, std::span<float> weight,
                   quench_stored_linear& stored) = 0;
  // Config and all else beside the tensors of `linears`, which have `scheme` in common.
  virtual void complete(const Scheme& scheme, const std::vector<Stored>& linears,
                        const kit::FloatLinears& left, const kit::FormatSink& sink) = 0;

 private:
  Scheme common_scheme() const;

  std::string format_;
  std::vector<Stored> linears_;
};

// "the scheme of quench_code_scheme" as Scheme.
Scheme scheme_from(const quench_code_scheme& scheme);

}  // namespace quench::formats
