#include "shared/matrix/product.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "shared/matrix/kernel.hpp"

namespace quench::matrix {

namespace {

constexpr int64_t kBlock = 256;           // columns of a triangle that libtorch makes at once
constexpr int64_t kCorner = 64;           // rows and columns of a square on its diagonal, likewise
constexpr int64_t kWorthwhile = 1 << 15;  // products of fewer multiplications stay with libtorch

bool is_plain(const at::Tensor& matrix) {
  return matrix.is_cpu() &&
         (matrix.scalar_type() == at::kFloat || matrix.scalar_type() == at::kDouble) &&
         (matrix.stride(0) == 1 || matrix.stride(1) == 1);
}

#ifdef QUENCH_HAS_MATRIX_KERNELS

template <typename T, typename To, typename From = T>
void run(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, Result<T, To> result) {
  result.to = to.mutable_data_ptr<To>();
  result.stride = to.stride(0);
  multiply<T, To, From>({a.const_data_ptr<From>(), a.stride(0), a.stride(1)},
                        {b.const_data_ptr<From>(), b.stride(1), b.stride(0)},
                        {a.size(0), b.size(1), a.size(1)}, result);
}

#else

template <typename T, typename To, typename From = T>
void run(const at::Tensor&, const at::Tensor&, const at::Tensor&, const Result<T, To>&) {}

#endif

// Adds libtorch's product.
void add_theirs(at::Tensor to, const at::Tensor& a, const at::Tensor& b, double factor) {
  if (to.scalar_type() == a.scalar_type()) {
    to.addmm_(a, b, 1, factor);
  } else {
    to.add_(at::mm(a, b), factor);
  }
}

// The square `size` rows and columns from `first` on, of which one triangle is wanted: two squares
// of half the size and a rectangle beside them.
void add_corner_of_theirs(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                          double factor, Part part, int64_t first, int64_t size) {
  const auto add = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    add_theirs(to.narrow(0, row, rows).narrow(1, column, columns), a.narrow(0, row, rows),
               b.narrow(1, column, columns), factor);
  };
  if (size <= kCorner) {
    add(first, size, first, size);
    return;
  }
  const int64_t half = size / 2;
  const int64_t middle = first + half;
  add_corner_of_theirs(to, a, b, factor, part, first, half);
  add_corner_of_theirs(to, a, b, factor, part, middle, size - half);
  if (part == Part::kUpper) {
    add(first, half, middle, size - half);
  } else {
    add(middle, size - half, first, half);
  }
}

// Adds libtorch's product; of a triangle, `to` is square.
void add_part_of_theirs(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                        double factor, Part part) {
  if (part == Part::kAll) {
    add_theirs(to, a, b, factor);
    return;
  }
  for (int64_t begin = 0; begin < to.size(1); begin += kBlock) {  // block columns of the triangle
    const int64_t size = std::min(kBlock, to.size(1) - begin);
    add_corner_of_theirs(to, a, b, factor, part, begin, size);
    const int64_t first = part == Part::kLower ? begin + size : 0;
    const int64_t end = part == Part::kUpper ? begin : to.size(0);
    if (first < end) {
      add_theirs(to.narrow(0, first, end - first).narrow(1, begin, size),
                 a.narrow(0, first, end - first), b.narrow(1, begin, size), factor);
    }
  }
}

template <typename T>
void run_with_bias(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                   const at::Tensor& bias) {
  Result<T, T> result;
  result.bias = bias.defined() ? bias.const_data_ptr<T>() : nullptr;
  run<T, T>(to, a, b, result);
}

template <typename T, typename To, typename From = T>
void run_sum(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor,
             Part part) {
  Result<T, To> result;
  result.factor = factor;
  result.add = true;
  result.part = part;
  run<T, To, From>(to, a, b, result);
}

bool fits(const at::Tensor& to) {
  return to.is_cpu() && to.stride(1) == 1;
}

}  // namespace

bool has_processor() {
#ifdef QUENCH_HAS_MATRIX_KERNELS
  static const bool kHas = __builtin_cpu_is("amd") != 0 && __builtin_cpu_supports("avx512f") != 0;
  return kHas;
#else
  return false;
#endif
}

bool has_kernel_for(const at::Tensor& a, const at::Tensor& b) {
  return has_processor() && is_plain(a) && is_plain(b) && a.scalar_type() == b.scalar_type() &&
         a.size(0) * a.size(1) * b.size(1) >= kWorthwhile;
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (!has_kernel_for(a, b)) {
    return at::mm(a, b);
  }
  const at::Tensor to = at::empty({a.size(0), b.size(1)}, a.options());
  product_into(to, a, b);
  return to;
}

void product_into(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                  const at::Tensor& bias) {
  if (has_kernel_for(a, b) && fits(to) && to.scalar_type() == a.scalar_type()) {
    return a.scalar_type() == at::kDouble ? run_with_bias<double>(to, a, b, bias)
                                          : run_with_bias<float>(to, a, b, bias);
  }
  at::Tensor out = to;
  if (bias.defined()) {
    at::addmm_out(out, bias, a, b);
  } else {
    at::mm_out(out, a, b);
  }
}

void add_product(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor,
                 Part part) {
  const bool narrower = a.scalar_type() == at::kDouble && to.scalar_type() == at::kFloat;
  if (has_kernel_for(a, b) && fits(to) && !narrower) {
    const bool wide = to.scalar_type() == at::kDouble;
    if (wide && a.scalar_type() == at::kDouble) {
      return run_sum<double, double>(to, a, b, factor, part);
    }
    if (wide || to.scalar_type() == at::kFloat) {
      return wide ? run_sum<float, double>(to, a, b, factor, part)
                  : run_sum<float, float>(to, a, b, factor, part);
    }
  }
  add_part_of_theirs(to, a, b, factor, part);
}

void add_float64_square(const at::Tensor& to, const at::Tensor& rows) {
  if (rows.scalar_type() == at::kFloat && has_kernel_for(rows.t(), rows) && fits(to)) {
    return run_sum<double, double, float>(to, rows.t(), rows, 1, Part::kUpper);
  }
  const at::Tensor wide = rows.to(at::kDouble);
  add_product(to, wide.t(), wide, 1, Part::kUpper);
}

}  // namespace quench::matrix
