#include "shared/matrix/product.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "quench/kit/error.hpp"
#include "shared/matrix/kernel.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::matrix {

namespace {

bool is_narrow(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf;
}

// The type in which products of `type` are summed.
at::ScalarType sum_type(at::ScalarType type) {
  return is_narrow(type) ? at::kFloat : type;
}

void check(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b) {
  const bool known =
      a.scalar_type() == at::kFloat || a.scalar_type() == at::kDouble || is_narrow(a.scalar_type());
  if (!known || b.scalar_type() != a.scalar_type()) {
    kit::fail(QUENCH_UNSUPPORTED, "product: got %s times %s, wanted one floating-point type",
              at::toString(a.scalar_type()), at::toString(b.scalar_type()));
  }
  if (a.dim() != 2 || b.dim() != 2 || to.dim() != 2 || a.size(1) != b.size(0) ||
      to.size(0) != a.size(0) || to.size(1) != b.size(1)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "product: the shapes do not match");
  }
}

// The matrix, or a copy with unit stride along one dimension.
at::Tensor readable(const at::Tensor& matrix) {
  return matrix.stride(0) == 1 || matrix.stride(1) == 1 ? matrix : matrix.contiguous();
}

// Whether kernels can write to it directly: elements of a row must be contiguous.
bool is_writable(const at::Tensor& to, at::ScalarType type) {
  return to.scalar_type() == type && (to.stride(1) == 1 || to.size(1) == 1);
}

template <typename Element>
const Element* elements(const at::Tensor& matrix) {
  return static_cast<const Element*>(matrix.const_data_ptr());
}

template <typename T, typename To, typename From = T>
void run(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, Result<T, To> result) {
  const at::Tensor left = readable(a);
  const at::Tensor right = readable(b);
  result.to = to.mutable_data_ptr<To>();
  result.stride = to.stride(0);
  multiply<T, To, From>({elements<From>(left), left.stride(0), left.stride(1)},
                        {elements<From>(right), right.stride(1), right.stride(0)},
                        {a.size(0), b.size(1), a.size(1)}, result);
}

// to = a · b + bias, where `to` has the type of the sums.
void write(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  const auto run_as = [&]<typename T, typename From>(const T*, const From*) {
    const at::Tensor wide = bias.defined() ? bias.to(to.scalar_type()).contiguous() : bias;
    Result<T, T> result;
    result.bias = wide.defined() ? wide.const_data_ptr<T>() : nullptr;
    run<T, T, From>(to, a, b, result);
  };
  switch (a.scalar_type()) {
    case at::kDouble:
      return run_as(static_cast<double*>(nullptr), static_cast<double*>(nullptr));
    case at::kBFloat16:
      return run_as(static_cast<float*>(nullptr), static_cast<Bfloat16*>(nullptr));
    case at::kHalf:
      return run_as(static_cast<float*>(nullptr), static_cast<Float16*>(nullptr));
    default:
      return run_as(static_cast<float*>(nullptr), static_cast<float*>(nullptr));
  }
}

// The same where kernels cannot write directly: a few rows at a time, to keep the buffer small.
void write_rounded(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                   const at::Tensor& bias) {
  constexpr int64_t kHeld = int64_t{1} << 22;  // elements
  const int64_t rows = std::max(4 * kBlockRows, kHeld / to.size(1));
  for (int64_t first = 0; first < to.size(0); first += rows) {
    const int64_t count = std::min(rows, to.size(0) - first);
    const at::Tensor made =
        at::empty({count, to.size(1)}, to.options().dtype(sum_type(a.scalar_type())));
    write(made, a.narrow(0, first, count), b, bias);
    to.narrow(0, first, count).copy_(made);
  }
}

template <typename T, typename To, typename From = T>
void add(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor,
         Triangle triangle) {
  Result<T, To> result;
  result.factor = factor;
  result.add = true;
  result.triangle = triangle;
  run<T, To, From>(to, a, b, result);
}

bool is_empty(const at::Tensor& to, const at::Tensor& a) {
  return to.numel() == 0 || a.size(1) == 0;
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor to = at::empty({a.size(0), b.size(1)}, a.options());
  product_into(to, a, b);
  return to;
}

void product_into(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                  const at::Tensor& bias) {
  check(to, a, b);
  at::Tensor out = to;
  if (!on_host(a)) {
    bias.defined() ? at::addmm_out(out, bias, a, b) : at::mm_out(out, a, b);
  } else if (is_empty(to, a)) {
    bias.defined() ? out.copy_(bias.expand_as(to)) : out.zero_();
  } else if (is_writable(to, sum_type(a.scalar_type()))) {
    write(to, a, b, bias);
  } else {
    write_rounded(to, a, b, bias);
  }
}

void add_product(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor,
                 Triangle triangle) {
  check(to, a, b);
  at::Tensor out = to;
  if (!on_host(a)) {
    if (to.scalar_type() == a.scalar_type()) {
      out.addmm_(a, b, 1, factor);
    } else {
      out.add_(at::mm(a, b), factor);
    }
    return;
  }
  if (is_empty(to, a)) {
    return;
  }
  const bool wide = to.scalar_type() == at::kDouble;
  const at::ScalarType type = wide ? at::kDouble : sum_type(a.scalar_type());
  if (!is_writable(to, type)) {
    const at::Tensor held = to.to(type, /*non_blocking=*/false, /*copy=*/true).contiguous();
    add_product(held, a, b, factor, triangle);
    out.copy_(held);
  } else if (wide && is_narrow(a.scalar_type())) {
    add_product(to, a.to(at::kFloat), b.to(at::kFloat), factor, triangle);
  } else if (a.scalar_type() == at::kBFloat16) {
    add<float, float, Bfloat16>(to, a, b, factor, triangle);
  } else if (a.scalar_type() == at::kHalf) {
    add<float, float, Float16>(to, a, b, factor, triangle);
  } else if (a.scalar_type() == at::kDouble) {
    add<double, double>(to, a, b, factor, triangle);
  } else if (wide) {
    add<float, double>(to, a, b, factor, triangle);
  } else {
    add<float, float>(to, a, b, factor, triangle);
  }
}

void add_float64_square(const at::Tensor& to, const at::Tensor& rows) {
  if (on_host(rows) && rows.scalar_type() == at::kFloat && is_writable(to, at::kDouble) &&
      !is_empty(to, rows.t())) {
    return add<double, double, float>(to, rows.t(), rows, 1, Triangle::kUpper);
  }
  const at::Tensor wide = rows.to(at::kDouble);
  add_product(to, wide.t(), wide, 1, Triangle::kUpper);
}

}  // namespace quench::matrix
