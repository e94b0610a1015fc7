// The three costs of GPTQ on one layer: the Gram matrix of its inputs, the factor, and the column
// loop, each as a part of the rate that the product which they use reaches on the same thread in
// the same run; libtorch's beside it. The product's size is the layer's, its dtype the step's.
//
//   quantizers_gptq [in = 2048] [out = 2048] [rows of inputs = 4096] [rounds = 5]
//
// One thread, processor time. Counted are the operations that the result needs: N n^2 for one
// triangle of the Gram matrix, 2/3 n^3 for the factor (one Cholesky, one triangular inverse), m n^2
// for the column loop.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "bench/support/timing.hpp"
#include "quantizers/gptq/factor.hpp"
#include "quantizers/gptq/solver.hpp"
#include "quantizers/gram/gram.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"
#include "tests/support/test_host.hpp"

namespace {

using quench::bench::processor_seconds;
using quench::bench::Samples;
namespace matrix = quench::matrix;
namespace quantizers = quench::quantizers;

constexpr int64_t kCallRows = 2048;  // rows that reach a quantizer in one call: a micro-batch

// Normal values; neighbouring columns are correlated, as inputs of a layer are, when `mix` > 0.
at::Tensor random_rows(int64_t rows, int64_t columns, uint64_t seed, float mix) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  at::Tensor out = at::empty({rows, columns}, at::kFloat);
  auto* values = out.data_ptr<float>();
  for (int64_t r = 0; r < rows; ++r) {
    float before = 0;
    for (int64_t c = 0; c < columns; ++c) {
      before = mix * before + normal(random);
      values[r * columns + c] = before;
    }
  }
  return out;
}

struct Buffers {
  Buffers(int64_t rows, int64_t columns, int64_t groups)
      : codes(static_cast<size_t>(rows * columns)),
        scales(static_cast<size_t>(rows * groups)),
        zeros(scales.size()),
        g_idx(static_cast<size_t>(columns)),
        coded{rows, columns, groups, codes, scales, zeros, g_idx} {}
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<int32_t> g_idx;
  quantizers::Coded coded;
};

// One step of GPTQ: what it took, and what the same operations would take at the product's rate.
struct Step {
  const char* name;
  double operations;
  Samples seconds = {};
};

void print(const Step& step, double product_rate) {
  const double rate = step.operations / step.seconds.least();
  std::printf("%-22s %7.3f s  %6.1f GFLOP/s  of the product: %.2f\n", step.name,
              step.seconds.least(), rate / 1e9, rate / product_rate);
}

void measure(int64_t in, int64_t out, int64_t rows, int rounds) {
  const at::Tensor x = random_rows(rows, in, 1, 0.7f);
  const at::Tensor weight = random_rows(out, in, 2, 0);
  const at::Tensor right = random_rows(in, in, 3, 0);
  const at::Tensor x64 = right.to(at::kDouble);
  const auto n = static_cast<double>(in);
  const auto m = static_cast<double>(out);
  const auto tokens = static_cast<double>(rows);
  Step gram_step{"gram (float32)", tokens * n * n};
  Step full_step{"at::mm of X'X", 2 * tokens * n * n};
  Step factor_step{"factor (float64)", 2.0 / 3.0 * n * n * n};
  Step columns_step{"columns (float32)", m * n * n};
  Step product32{"product float32", 2 * m * n * n};
  Step product64{"product float64", 2 * n * n * n};
  Step theirs32{"at::mm float32", product32.operations};
  Step theirs64{"at::mm float64", product64.operations};
  const quantizers::SolverOptions options{{4, true}, 128, false, false, 128, false};
  Buffers buffers(out, in, quantizers::groups_of(in, options.group_size).count);
  for (int round = 0; round < rounds; ++round) {  // interleaved, so that a busy machine hits all
    quantizers::Gram gram(in, false);
    at::Tensor matrix;
    gram_step.seconds.add(processor_seconds([&] {
      for (const at::Tensor& part : x.split(kCallRows)) {
        const quench_tensor view = quench::kit::view_of(part);
        gram.observe({sizeof(quench_observe_args), 0, &view, nullptr, nullptr, nullptr, nullptr});
      }
      matrix = gram.matrix();
    }));
    full_step.seconds.add(processor_seconds([&] { at::mm(x.t(), x); }));
    quantizers::Factor factor;
    factor_step.seconds.add(processor_seconds([&] {
      factor =
          quantizers::factorize(matrix, gram.rows(), {quantizers::ColumnOrder::kGiven, 0.01, 0});
    }));
    columns_step.seconds.add(
        processor_seconds([&] { quantizers::solve(weight, factor, options, buffers.coded); }));
    product32.seconds.add(processor_seconds([&] { matrix::product(weight, right); }));
    product64.seconds.add(processor_seconds([&] { matrix::product(x64, x64); }));
    theirs32.seconds.add(processor_seconds([&] { at::mm(weight, right); }));
    theirs64.seconds.add(processor_seconds([&] { at::mm(x64, x64); }));
  }
  const double rate32 = product32.operations / product32.seconds.least();
  const double rate64 = product64.operations / product64.seconds.least();
  std::printf("%lld x %lld, %lld rows, 4 bits, groups of 128, one thread\n",
              static_cast<long long>(out), static_cast<long long>(in),
              static_cast<long long>(rows));
  print(product32, rate32);
  print(product64, rate64);
  print(theirs32, rate32);
  print(theirs64, rate64);
  print(full_step, rate32);
  print(gram_step, rate32);
  print(factor_step, rate64);
  print(columns_step, rate32);
  std::printf("at::mm of X'X / gram   %.2f\n",
              full_step.seconds.least() / gram_step.seconds.least());
  const double solver = factor_step.seconds.least() + columns_step.seconds.least();
  const double floor = factor_step.operations / rate64 + columns_step.operations / rate32;
  std::printf("factor + columns       %.3f s, %.2f times the %.3f s of their operations\n", solver,
              solver / floor, floor);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [argc, argv](int index, int64_t otherwise) {
    return argc > index ? std::atoll(argv[index]) : otherwise;
  };
  at::set_num_threads(1);
  measure(argument(1, 2048), argument(2, 2048), argument(3, 4096),
          static_cast<int>(argument(4, 5)));
  return 0;
}
