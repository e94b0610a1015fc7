// LLM.int8's linear on one thread: codes of the inputs, int8 products by each kernel of this
// machine, and the whole op, each beside libtorch's float32 product of the same shapes.
//
//   quantizers_int8 [in = 2048] [out = 2048] [rows = 2048] [rounds = 5]
//
// Processor time. `of the product`: how often the step fits into the time of the float32 product.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "bench/support/timing.hpp"
#include "quantizers/int8/linear.hpp"
#include "quench/kit/torch.hpp"
#include "tests/support/test_host.hpp"

namespace {

using quench::bench::processor_seconds;
using quench::bench::Samples;
namespace quantizers = quench::quantizers;

at::Tensor random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  at::Tensor out = at::empty({rows, columns}, at::kFloat);
  for (int64_t i = 0; i < out.numel(); ++i) {
    out.data_ptr<float>()[i] = normal(random);
  }
  return out;
}

double least_seconds(int rounds, const std::function<void()>& body) {
  Samples samples;
  for (int round = 0; round < rounds; ++round) {
    samples.add(processor_seconds(body));
  }
  return samples.least();
}

void print(const char* name, double seconds, double operations, double product) {
  std::printf("%-28s %8.4f s  %7.1f G/s  of the product: %.2f\n", name, seconds,
              operations / seconds / 1e9, product / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int at, int64_t otherwise) {
    return argc > at ? std::atoll(argv[at]) : otherwise;
  };
  const int64_t in = argument(1, 2048);
  const int64_t out = argument(2, 2048);
  const int64_t rows = argument(3, 2048);
  const auto rounds = static_cast<int>(argument(4, 5));
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  const at::Tensor weight = random_matrix(out, in, 1);
  const at::Tensor x = random_matrix(rows, in, 2);
  at::Tensor y = at::empty({rows, out}, at::kFloat);
  const double operations =
      2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  const double product = least_seconds(rounds, [&] { at::mm_out(y, x, weight.t()); });
  print("float32 product", product, operations, product);
  const std::span<const float> values(x.const_data_ptr<float>(), static_cast<size_t>(x.numel()));
  quantizers::CodedRows coded;
  print("codes of the inputs",
        least_seconds(rounds, [&] { coded = quantizers::code_rows(values, in, {6.0}, "x"); }),
        static_cast<double>(x.numel()), product);
  const quantizers::Int8Linear plain(weight, {{0}, true}, "w");
  const quantizers::Int8Linear split(weight, {{4}, true}, "w");  // some columns have outliers
  constexpr const char* kNames[] = {"int8, portable", "int8, AVX2", "int8, AVX-512 VNNI"};
  for (const quantizers::Int8Kernel kernel : quantizers::int8_kernels()) {
    const quantizers::Int8Matrix matrix(plain.weight().codes, out, in, kernel);
    const auto take = [](int64_t, std::span<const int32_t>) {};
    print(kNames[static_cast<int>(kernel)],
          least_seconds(rounds, [&] { matrix.multiply(coded.rows.codes, take); }), operations,
          product);
  }
  print("the op, no outliers", least_seconds(rounds, [&] { plain.apply(x, y); }), operations,
        product);
  print("the op, threshold 4", least_seconds(rounds, [&] { split.apply(x, y); }), operations,
        product);
  std::printf("columns with outliers at threshold 4: %lld of %lld\n",
              static_cast<long long>(split.outlier_columns()), static_cast<long long>(in));
  return 0;
}
