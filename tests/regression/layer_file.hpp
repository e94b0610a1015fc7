// Files that `quench layer` reads and writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

// The file that the command reads: `weight` [rows, columns] and `inputs` [N, columns].
template <typename T>
void write_layer(const std::filesystem::path& path, const std::vector<T>& weight,
                 const std::vector<T>& inputs, int64_t columns) {
  const quench_dtype dtype = sizeof(T) == 8 ? kFloat64 : kFloat32;
  const auto rows = [&](const std::vector<T>& values) {
    return static_cast<int64_t>(values.size()) / columns;
  };
  SafetensorsWriter writer(path);
  writer.declare({"weight", dtype, {rows(weight), columns}, 0});
  writer.declare({"inputs", dtype, {rows(inputs), columns}, 0});
  writer.write(weight.data(), weight.size() * sizeof(T));
  writer.write(inputs.data(), inputs.size() * sizeof(T));
  writer.finish();
}

// scales[:, g_idx] · (codes − zeros[:, g_idx]) of a result, [out, in].
inline std::vector<double> values_of(const SafetensorsFile& file) {
  const auto codes = file.elements<uint8_t>("codes");
  const auto scales = file.elements<double>("scales");
  const auto zeros = file.elements<double>("zeros");
  const auto group = file.elements<int32_t>("g_idx");
  const size_t groups = static_cast<size_t>(file.shape("scales").at(1));
  std::vector<double> out(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t at = i / group.size() * groups + static_cast<size_t>(group[i % group.size()]);
    out[i] = scales[at] * (codes[i] - zeros[at]);
  }
  return out;
}

}  // namespace quench::test
