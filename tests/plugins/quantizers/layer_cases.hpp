// The reference layers: five weights with inputs, and what RTN and GPTQ make of them in float64.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/plugins/quantizers/quantizer_bench.hpp"

namespace quench::test {

struct LayerCase {
  std::string id;
  std::string parameters;  // JSON, without `precision`
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<int32_t> zeros;
  std::vector<int32_t> g_idx;
  std::vector<int32_t> perm;       // empty for rtn
  std::vector<double> row_margin;  // see compare()
  double error;                    // tr(D H D') / tr(W H W')
};

struct Layer {
  std::string name;
  Matrix weight;
  Matrix inputs;
  Matrix hessian;
};

// Calls `visit` for every case of `method` ("rtn", "gptq") of every layer, which it names. Skips
// the calling test when the reference data is not there.
void for_each_layer_case(const std::string& method,
                         const std::function<void(const Layer&, const LayerCase&)>& visit);

// What a run over many cases found.
struct Comparison {
  int cases = 0;
  int64_t rows = 0;         // all rows
  int64_t compared = 0;     // rows whose margin is above the limit
  int64_t tie_rows = 0;     // the others
  int64_t tie_differs = 0;  // of these, with other codes
  double worst_ratio = 0;   // of objectives, ours to the reference's, over all cases
  double ratio_sum = 0;     // of the cases that have a row at a tie
  int tie_cases = 0;
  double scale_error = 0;  // largest relative difference of a scale in a compared row
};

// Compares codes (in rows whose values all stay at least `margin` steps away from a point where a
// code would change), scales (to `scale_error`, relative), order and objective. Fails the calling
// test on a difference.
void compare(const Layer& layer, const LayerCase& expected, const Quantized& got, double margin,
             double scale_error, Comparison& comparison);
// Says what was compared, on stderr.
void print(const char* what, const Comparison& comparison);

}  // namespace quench::test
