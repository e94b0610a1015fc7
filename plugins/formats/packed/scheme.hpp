// How the weights of a checkpoint are stored as codes.
#pragma once

#include <cstdint>
#include <string>

namespace quench::formats {

// Both dimensions of a packed weight, and so the columns of a group, are at most this: a file of
// strided tensors can claim any.
inline constexpr int64_t kMaxPackedSide = int64_t{1} << 24;

struct Scheme {
  int64_t bits = 0;
  int64_t group_size = -1;  // columns; -1: the whole row
  bool symmetric = true;
  bool ordered = false;  // groups follow the order of quantization (desc_act), not the columns
  std::string writer;    // "gptqmodel:4.2.5", "compressed-tensors:0.19.0", or empty
  std::string layout;    // of a format that has several, or empty: "nvfp4-pack-quantized"

  bool operator==(const Scheme&) const = default;
};

// Groups of `size` columns (-1: one group) among `in`; the last may be short.
inline int64_t groups_of(int64_t size, int64_t in) {
  return size == -1 ? 1 : (in + size - 1) / size;
}

// {"bits": 4, "group_size": 128, "symmetric": true, "ordered": false, "writer": null}: for records.
std::string scheme_json(const Scheme& scheme);

}  // namespace quench::formats
