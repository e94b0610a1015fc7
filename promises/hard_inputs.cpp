#include "promises/hard_inputs.hpp"

#include <algorithm>
#include <functional>

#include "promises/tensors.hpp"

namespace quench::promises {

namespace {

// Rows of rank `rank`.
std::vector<float> rows_of_rank(int64_t rows, int64_t columns, int64_t rank) {
  const std::vector<float> left = numbers<float>(3, static_cast<size_t>(rows * rank));
  const std::vector<float> right = numbers<float>(4, static_cast<size_t>(rank * columns));
  std::vector<float> out(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      float& value = out[static_cast<size_t>(r * columns + c)];
      for (int64_t k = 0; k < rank; ++k) {
        value +=
            left[static_cast<size_t>(r * rank + k)] * right[static_cast<size_t>(k * columns + c)];
      }
    }
  }
  return out;
}

}  // namespace

std::vector<HardInput> hard_inputs() {
  constexpr int64_t kOut = 6;
  constexpr int64_t kIn = 256;
  constexpr int64_t kRows = 300;
  const QuantizerInput plain = random_linear(kOut, kIn, kRows);
  std::vector<HardInput> out;
  const auto add = [&](const std::string& name,
                       const std::function<void(QuantizerInput&)>& change) {
    out.push_back({name, plain});
    change(out.back().input);
  };
  const auto each_row = [](QuantizerInput& input, const std::function<void(float*)>& change) {
    for (size_t r = 0; r < input.rows.size(); r += kIn) {
      change(input.rows.data() + r);
    }
  };
  add("rows of rank 3", [](QuantizerInput& input) { input.rows = rows_of_rank(kRows, kIn, 3); });
  add("two rows", [](QuantizerInput& input) { input.rows.resize(2 * kIn); });
  add("rows of zeros",
      [](QuantizerInput& input) { std::fill(input.rows.begin(), input.rows.end(), 0.0F); });
  add("equal columns", [&](QuantizerInput& input) {
    each_row(input, [](float* row) { std::fill(row, row + kIn, row[0]); });
  });
  add("dead columns", [&](QuantizerInput& input) {
    each_row(input, [](float* row) { row[0] = row[100] = row[255] = 0; });
  });
  add("a huge channel",
      [&](QuantizerInput& input) { each_row(input, [](float* row) { row[17] *= 1e6F; }); });
  add("rows beyond the range of squares",
      [&](QuantizerInput& input) { each_row(input, [](float* row) { row[17] *= 1e30F; }); });
  add("groups of zeros", [](QuantizerInput& input) {
    for (int64_t r = 0; r < kOut; ++r) {
      std::fill_n(input.weight.begin() + r * kIn, 128, 0.0F);
    }
  });
  add("one weight beside zeros", [](QuantizerInput& input) {
    std::fill(input.weight.begin(), input.weight.end(), 0.0F);
    input.weight[5] = 3.0F;
  });
  add("subnormal weights",
      [](QuantizerInput& input) { std::fill(input.weight.begin(), input.weight.end(), 1e-42F); });
  add("huge weights", [](QuantizerInput& input) {
    for (float& value : input.weight) {
      value *= 1e37F;
    }
  });
  return out;
}

}  // namespace quench::promises
