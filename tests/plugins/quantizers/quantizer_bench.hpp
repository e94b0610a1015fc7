// Drives a quantizer through its table, as the host does: one instance, one input group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/abi/kind/quantizer.h"
#include "quench/abi/module.h"
#include "quench/kit/tensor.hpp"
#include "tests/plugins/quantizers/matrix.hpp"

namespace quench::test {

// All that a quantizer handed over for one linear.
struct Quantized {
  quench_status status = QUENCH_OK;
  std::string error;
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<int32_t> g_idx;
  std::vector<int32_t> perm;
  Matrix dequantized;
  std::map<std::string, double> numbers;  // without times
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<std::byte>> bytes;  // of every tensor, by name
  std::shared_ptr<const quench_linear_op> op;           // null: none; the last copy releases it
  std::shared_ptr<const quench_cache_op> cache_op;      // likewise

  // Elements of a tensor of any name; empty where there is none.
  template <typename T>
  std::vector<T> tensor(const std::string& name) const {
    const auto found = bytes.find(name);
    if (found == bytes.end()) {
      return {};
    }
    const T* values = reinterpret_cast<const T*>(found->second.data());
    return {values, values + found->second.size() / sizeof(T)};
  }
  int64_t groups() const { return static_cast<int64_t>(scales.size()) / dequantized.rows; }
  // scale * (code - zero), in float64.
  Matrix decoded() const;
  // What the op makes of `x`, handed over as float32 or float64. Throws its error.
  Matrix applied(const Matrix& x, bool float64 = false) const;
  // What it multiplies of `x`, likewise.
  Matrix op_inputs(const Matrix& x, bool float64 = false) const;

 private:
  Matrix called(decltype(quench_linear_op::apply) function, const Matrix& x, int64_t columns,
                bool float64) const;
};

class QuantizerBench {
 public:
  // `parameters` is JSON; what it lacks has its default. Linears are named "linear0", "linear1".
  QuantizerBench(const std::string& parameters, int64_t in_features, uint32_t linears = 1);
  ~QuantizerBench();
  QuantizerBench(const QuantizerBench&) = delete;
  QuantizerBench& operator=(const QuantizerBench&) = delete;

  // Hands `x` over as float32, or as float64.
  quench_status observe(const Matrix& x, bool float64 = false);
  // With the same rows of the float model beside them.
  quench_status observe_both(const Matrix& x, const Matrix& float_x);
  // Hands over all weights of the group (`prepare`); returns the error, or "".
  std::string prepare(const std::vector<Matrix>& weights, bool float64 = false);
  Quantized quantize(const Matrix& weight, uint32_t linear = 0, bool float64 = false);
  // The same without codes, as the host asks where the weight stays on a device.
  Quantized quantize_without_codes(const Matrix& weight, uint32_t linear = 0, bool float64 = false);
  // On the rows that `other` has observed.
  Quantized quantize_on(const QuantizerBench& other, const Matrix& weight);
  bool accepts_groups_of(const QuantizerBench& other) const;
  uint32_t needs() const { return table_->needs(quantizer_); }
  // Throws if the quantizer keeps no Gram matrix.
  const quench_quantizer_table& gram() const;
  quench_quantizer* quantizer() const { return quantizer_; }
  quench_quantizer_state* state() const { return state_; }
  const std::string& error() const { return error_; }

 private:
  const quench_quantizer_table* table_;
  quench_quantizer* quantizer_ = nullptr;
  quench_quantizer_state* state_ = nullptr;
  std::vector<std::string> names_;
  std::vector<quench_linear_info> linears_;
  quench_group_info info_{};
  Quantized quantize_state(quench_quantizer_state* state, const Matrix& weight, uint32_t linear,
                           bool float64, uint32_t flags = 0);
  std::string error_;
};

// The only item of the plugin that is linked into this test, and what its create() says of
// `parameters`: an empty string for yes.
const quench_item& linked_item();
std::string create_error(const std::string& parameters);

}  // namespace quench::test
