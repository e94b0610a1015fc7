// One linear through a quantizer, by the functions of its table. Every call gets weights (and rows,
// where they are needed) that lie in memory of this side and are compared with a copy afterwards.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "promises/candidate.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench::promises {

// All that a quantizer gave for one linear.
struct QuantizedLinear {
  quench_status status = QUENCH_OK;
  std::string message;
  const char* where = "quantize";  // the function that failed
  std::string fault;  // what it did that no call may do, such as to write to its inputs
  std::vector<float> dequantized;                      // as left where it was not written
  std::map<std::string, std::vector<double>> tensors;  // any dtype, widened
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, quench_dtype> dtypes;
  std::map<std::string, double> numbers;
  bool linear_op = false;
  bool cache_op = false;
  std::vector<float> op_output;  // [rows, out], of the op on rows of this side's own
  std::vector<float> op_inputs;  // [rows, in], those rows as it multiplies them, if it tells

  // Throws Broken for anything but a result.
  void require_result() const;
};

// What `dequantized` is filled with before a quantizer writes it: a NaN that arithmetic does not
// make.
bool is_unwritten(float value);

// One linear of a group: W [out,in] and the rows x [N,in] it reads.
struct QuantizerInput {
  int64_t out;
  int64_t in;
  std::vector<float> weight;
  std::vector<float> rows;  // empty: none are observed
};

QuantizerInput random_linear(int64_t out, int64_t in, int64_t rows);

// An instance with its group, closed whatever happens.
struct QuantizerInstance {
  const quench_quantizer_table& table;
  quench_quantizer* quantizer = nullptr;
  quench_quantizer_state* state = nullptr;

  // Throws Broken where none can be made with these parameters.
  QuantizerInstance(Candidate& candidate, const nlohmann::json& parameters);
  QuantizerInstance(const QuantizerInstance&) = delete;
  QuantizerInstance& operator=(const QuantizerInstance&) = delete;
  ~QuantizerInstance();
  bool takes_rows() const;
  void end_group();
};

// begin and observe by the owner of the group, quantize by `quantizer`. The group stays open.
QuantizedLinear run_group(QuantizerInstance& owner, quench_quantizer* quantizer,
                          const QuantizerInput& input);

// begin, observe (in two calls, if there are rows and the quantizer takes them), quantize, end.
QuantizedLinear quantize(Candidate& candidate, const nlohmann::json& parameters,
                         const QuantizerInput& input);

// QUENCH_NEEDS_* | ... of an instance with default parameters.
uint32_t quantizer_needs(Candidate& candidate);

}  // namespace quench::promises
