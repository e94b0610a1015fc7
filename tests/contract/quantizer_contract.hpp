// What every quantizer must do, whatever its method. Each check runs on one plugin with its default
// parameters and fails as a Catch2 assertion. Every call gets weights (and rows, where they are
// needed) that lie in the test's own memory and are compared with a copy afterwards.
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
  std::vector<float> op_output;  // [kOpRows, out], of the op on rows of the test's own
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

// A linear that is hard for a method, by name.
struct HardInput {
  std::string name;
  QuantizerInput input;
};
std::vector<HardInput> hard_inputs();

namespace quantizer_contract {

void same_input_same_result(const quench_item& item);
void threads_do_not_matter(const quench_item& item);
void zero_stays_zero(const quench_item& item);
void codes_explain_the_weight(const quench_item& item);
void last_group_may_be_shorter(const quench_item& item);
void not_finite_weights_are_refused_by_name(const quench_item& item);
void not_finite_rows_are_refused(const quench_item& item);
// Rank-deficient and single rows, equal and dead columns, a huge channel, groups of zeros, tiny and
// huge weights: a finite weight that its codes explain, or an error that names the linear.
void hard_inputs_are_survived(const quench_item& item);
void accepted_groups_serve_as_well_as_own(const quench_item& item);
void rows_that_are_needed_are_asked_for(const quench_item& item);
// An op does the same to the same rows, and to rows of zeros nothing.
void an_op_is_a_function(const quench_item& item);
void bits_per_weight_are_given(const quench_item& item);
void memory_is_given_back(const quench_item& item);
// quench.quantizer.memory/1: what a state says it takes is what its tensors come to.
void memory_is_what_is_said(const quench_item& item);

}  // namespace quantizer_contract

}  // namespace quench::test
