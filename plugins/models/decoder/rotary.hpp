// Rotary position embeddings (Su et al. 2021), in the rotate-half layout of Hugging Face.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "models/decoder/batch.hpp"

namespace quench::decoder {

// theta^(-2i/dims) for i < dims/2, float32 [dims/2], computed in float32 like the reference.
at::Tensor inverse_frequencies(int64_t dims, double theta);

// Cosines and sines of a batch's angles, [B or 1, T, 1, dims/2].
struct Angles {
  at::Tensor cos;
  at::Tensor sin;
};

// Computes angles, cosines and sines in float32 for every model dtype and converts them afterwards,
// because the model was trained that way. Positions 0..T-1 come from a table.
class Rotary {
 public:
  // `frequencies` float32 [dims/2] on the CPU; cosines and sines are multiplied by `magnitude`.
  Rotary(at::Tensor frequencies, double magnitude, at::ScalarType dtype, at::Device device);

  Angles angles(const Batch& batch);

 private:
  Angles compute(const at::Tensor& positions) const;  // int32 [n] -> [n, dims/2]

  at::Tensor frequencies_;
  double magnitude_;
  at::ScalarType dtype_;
  at::Device device_;
  Angles table_;                        // for positions 0..n-1; grows
  std::vector<Angles> outgrown_;        // earlier tables: recordings may read them
  std::vector<int32_t> own_positions_;  // positions of the last batch that set its own
  Angles own_;
};

// Rotates the first 2*(dims/2) elements of each head of x [B,T,H,D]: in place, or into a new tensor
// inside an AutogradScope. Returns the rotated tensor.
at::Tensor rotate(const at::Tensor& x, const Angles& angles);

// Queries, keys and values [B,T,H,D] of fused [B,T,H,3D], in which they lie in this order; queries
// and keys rotated, in place outside of an AutogradScope.
std::array<at::Tensor, 3> rotated_parts(const at::Tensor& fused, const Angles& angles);

}  // namespace quench::decoder
