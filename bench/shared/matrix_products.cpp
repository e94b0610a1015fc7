#include "bench/shared/matrix_products.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <type_traits>
#include <vector>

#include "bench/support/timing.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/product.hpp"
#include "shared/matrix/tile.hpp"

namespace quench::bench {

namespace {

constexpr double kSeconds = 0.1;   // that a measurement takes at least
constexpr double kSample = 0.002;  // that a sample of it takes at least

// a [rows, depth] times b [depth, columns], b the transpose of a weight.
struct Shape {
  const char* name;
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

constexpr Shape kShapes[] = {
    {"large", 2048, 2048, 2048}, {"a linear", 2048, 768, 3072},
    {"tall", 16384, 64, 64},     {"wide", 64, 64, 16384},
    {"deep", 64, 16384, 64},     {"128", 128, 128, 128},
    {"64", 64, 64, 64},          {"32", 32, 32, 32},
    {"1 row", 1, 2048, 2048},    {"4 rows", 4, 2048, 2048},
    {"8 rows", 8, 2048, 2048},   {"16 rows", 16, 2048, 2048},
};

// The best rate of `body`, whose calls make `operations` each, in processor time of one thread of
// `threads`.
template <typename Body>
double best_rate(int threads, double operations, Body&& body) {
  double best = 0;
  int calls = 1;
  for (double spent = 0; spent < kSeconds;) {
    const double seconds = processor_seconds([&] {
      for (int i = 0; i < calls; ++i) {
        body();
      }
    });
    spent += seconds;
    if (seconds < kSample) {
      calls *= 2;
    } else {
      best = std::max(best, calls * operations * threads / seconds);
    }
  }
  return best;
}

template <typename T>
double tile_rate() {
  const matrix::Isa isa = matrix::isa();
  constexpr int64_t kDepth = 128;
  const int64_t rows = matrix::tile_rows(isa);
  const int64_t columns = matrix::tile_columns<T>(isa);
  using To = matrix::Sum<T>;
  constexpr double kProducts = std::is_same_v<T, matrix::Bfloat16Pair> ? 2e3 : 1e3;  // of each T
  const std::vector<T> a(static_cast<size_t>(rows * kDepth), T{1});
  const std::vector<T> b(static_cast<size_t>(columns * kDepth), T{1});
  std::vector<To> to(static_cast<size_t>(rows * columns));
  return best_rate(1, 2 * kProducts * static_cast<double>(rows * columns * kDepth), [&] {
    for (int i = 0; i < 1000; ++i) {
      matrix::run_tile<T, To>(isa, {a.data(), rows, false}, b.data(), kDepth,
                              {to.data(), columns, rows, columns, 1, false, nullptr});
    }
  });
}

void print(const char* type, const char* name, double ours, double theirs, double peak) {
  std::printf("  %-9s %-10s %7.1f  %7.1f  %5.2f  %5.2f\n", type, name, ours / 1e9, theirs / 1e9,
              ours / theirs, ours / peak);
}

void print_type(const char* name, at::ScalarType type, int threads, double peak) {
  for (const Shape& shape : kShapes) {
    const at::Tensor a = at::rand({shape.rows, shape.depth}).to(type);
    const at::Tensor b = at::rand({shape.columns, shape.depth}).to(type).t();
    const double operations = 2.0 * static_cast<double>(shape.rows * shape.depth * shape.columns);
    const double ours = best_rate(threads, operations, [&] { matrix::product(a, b); });
    const double theirs = best_rate(threads, operations, [&] { at::mm(a, b); });
    print(name, shape.name, ours, theirs, peak);
  }
}

// Rows' squares: one triangle of ours beside libtorch's whole matrix, as operations of one
// triangle.
void print_squares(int threads, double peak32, double peak64) {
  constexpr int64_t kRows = 2048;
  constexpr int64_t kWidth = 1024;
  const at::Tensor x = at::rand({kRows, kWidth});
  const at::Tensor x64 = x.to(at::kDouble);
  const at::Tensor to = at::zeros({kWidth, kWidth}, at::kDouble);
  constexpr double kOperations = 1.0 * kRows * kWidth * kWidth;
  print("f32->f64", "triangle",
        best_rate(threads, kOperations,
                  [&] { matrix::add_product(to, x.t(), x, 1, matrix::Triangle::kUpper); }),
        best_rate(threads, kOperations, [&] { at::mm(x.t(), x); }), peak32);
  print("float64", "triangle",
        best_rate(threads, kOperations, [&] { matrix::add_float64_square(to, x); }),
        best_rate(threads, kOperations, [&] { at::mm(x64.t(), x64); }), peak64);
}

}  // namespace

void print_matrix_products(const quench_host* host, const char* form, int threads) {
  kit::current_host = host;
  at::set_num_threads(threads);
  const double peak32 = threads * tile_rate<float>();
  const double peak64 = threads * tile_rate<double>();
  const double peak16 =
      matrix::multiplies_pairs() ? threads * tile_rate<matrix::Bfloat16Pair>() : peak32;
  std::printf(
      "%s, %d threads; a tile in the cache: %.1f GFLOP/s, %.1f in float64, %.1f in bfloat16\n",
      form, threads, peak32 / 1e9, peak64 / 1e9, peak16 / 1e9);
  std::printf("  %-9s %-10s %7s  %7s  %5s  %5s\n", "type", "shape", "ours", "at::mm", "ratio",
              "tile");
  print_type("float32", at::kFloat, threads, peak32);
  print_type("float64", at::kDouble, threads, peak64);
  print_type("bfloat16", at::kBFloat16, threads, peak16);
  print_squares(threads, peak32, peak64);
}

}  // namespace quench::bench
