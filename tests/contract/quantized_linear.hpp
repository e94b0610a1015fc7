// One linear through a quantizer, by the functions of its table. Every call gets weights (and rows,
// where they are needed) that lie in the test's own memory and are compared with a copy afterwards.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/abi/kind/quantizer.h"
#include "quench/abi/module.h"

namespace quench::test {

// All that a quantizer gave for one linear.
struct QuantizedLinear {
  quench_status status = QUENCH_OK;
  std::string message;
  std::vector<float> dequantized;
  std::map<std::string, std::vector<double>> tensors;  // any dtype, widened
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, double> numbers;
  bool linear_op = false;
  std::vector<float> op_output;  // [rows, out], of the op on rows of the test's own
};

// One linear of a group: W [out,in] and the rows x [N,in] it reads.
struct QuantizerInput {
  int64_t out;
  int64_t in;
  std::vector<float> weight;
  std::vector<float> rows;  // empty: none are observed
};

QuantizerInput random_linear(int64_t out, int64_t in, int64_t rows);

// begin, observe (in two calls, if there are rows and the quantizer takes them), quantize, end.
QuantizedLinear quantize(const quench_item& item, const nlohmann::json& parameters,
                         QuantizerInput input);

// An instance with its group, closed whatever happens.
struct QuantizerInstance {
  const quench_quantizer_table& table;
  quench_quantizer* quantizer = nullptr;
  quench_quantizer_state* state = nullptr;
  ~QuantizerInstance() {
    if (state != nullptr) {
      table.end(quantizer, state);
    }
    if (quantizer != nullptr) {
      table.destroy(quantizer);
    }
  }
};

// QUENCH_NEEDS_* | ... of an instance with these parameters.
uint32_t quantizer_needs(const quench_item& item, const nlohmann::json& parameters);

// begin and observe by the owner of the group, quantize by `quantizer`, into `result`.
void run_group(QuantizerInstance& owner, quench_quantizer* quantizer, QuantizerInput& input,
               QuantizedLinear& result, quench_error& error);

}  // namespace quench::test
