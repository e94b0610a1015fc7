#include "quantizers/gram/device_panel.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

namespace quench::quantizers {

namespace {

// Columns of G whose products are one call: few enough to leave out most of what is below the
// diagonal, enough to fill a GPU.
int64_t block_columns(int64_t columns) {
  return columns <= 1024 ? columns : columns <= 4096 ? 1024 : 2048;
}

bool is_narrow(const at::Tensor& matrix) {
  return matrix.scalar_type() == at::kHalf || matrix.scalar_type() == at::kBFloat16;
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  return is_narrow(a) && a.is_cuda() ? at::mm(a, b, at::kFloat)
         : is_narrow(a)              ? at::mm(a.to(at::kFloat), b.to(at::kFloat))
                                     : at::mm(a, b);
}

void set_or_add_product(at::Tensor to, const at::Tensor& a, const at::Tensor& b, bool adds) {
  if (is_narrow(a) && a.is_cuda()) {
    adds ? at::addmm_out(to, to, a, b, at::kFloat) : at::mm_out(to, a, b, at::kFloat);
  } else if (adds) {
    to.add_(product(a, b));
  } else {
    to.copy_(product(a, b));
  }
}

// Calls body(begin, end) for blocks of columns whose rows [0, end) are the upper triangle.
template <typename Body>
void for_block_columns(int64_t columns, const Body& body) {
  const int64_t block = block_columns(columns);
  for (int64_t begin = 0; begin < columns; begin += block) {
    body(begin, std::min(columns, begin + block));
  }
}

at::Tensor block_of(const at::Tensor& matrix, int64_t begin, int64_t end) {
  return matrix.narrow(0, 0, end).narrow(1, begin, end - begin);
}

}  // namespace

uint64_t PanelSum::bytes(int64_t columns, bool float64) {
  const auto width = static_cast<uint64_t>(columns);
  return !float64 && columns <= kWidest
             ? width * width * 4
             : width * static_cast<uint64_t>(block_columns(columns)) * (float64 ? 8 : 4);
}

void PanelSum::add(const at::Tensor& to, const at::Tensor& rows) {
  const int64_t columns = rows.size(1);
  if (columns <= 1024 && rows.size(0) > kDevicePanelRows) {
    add_several(to, rows);
    return;
  }
  const bool apart = rows.scalar_type() != at::kDouble && columns <= kWidest;
  if (apart && !together_.defined()) {
    together_ = at::empty({columns, columns}, to.options().dtype(at::kFloat));
  }
  for_block_columns(columns, [&](int64_t begin, int64_t end) {
    const at::Tensor left = rows.narrow(1, 0, end).t();
    const at::Tensor right = rows.narrow(1, begin, end - begin);
    if (apart) {
      set_or_add_product(block_of(together_, begin, end), left, right, panels_ > 0);
    } else {
      block_of(to, begin, end).add_(product(left, right));
    }
  });
  panels_ += apart ? 1 : 0;
  if (panels_ == kTogether) {
    finish(to);
  }
}

// Whole panels beside each other; what is left is a panel of its own.
void PanelSum::add_several(const at::Tensor& to, const at::Tensor& rows) {
  const int64_t panels = rows.size(0) / kDevicePanelRows;
  const int64_t whole = panels * kDevicePanelRows;
  const at::Tensor each =
      rows.narrow(0, 0, whole).reshape({panels, kDevicePanelRows, rows.size(1)});
  at::Tensor made;
  if (is_narrow(rows) && rows.is_cuda()) {
    made = at::bmm(each.transpose(1, 2), each, at::kFloat);
  } else {
    const at::Tensor wide = is_narrow(rows) ? each.to(at::kFloat) : each;
    made = at::bmm(wide.transpose(1, 2), wide);
  }
  at::Tensor sum = to;
  sum.add_(made.sum(0));
  if (whole < rows.size(0)) {
    add(to, rows.narrow(0, whole, rows.size(0) - whole));
  }
}

void PanelSum::finish(const at::Tensor& to) {
  if (panels_ > 0) {
    for_block_columns(to.size(1), [&](int64_t begin, int64_t end) {
      block_of(to, begin, end).add_(block_of(together_, begin, end));
    });
  }
  panels_ = 0;
}

void add_quadratic_forms_on_device(const at::Tensor& gram, const at::Tensor& rows,
                                   const at::Tensor& sums) {
  for_block_columns(rows.size(1), [&](int64_t begin, int64_t end) {
    const int64_t size = end - begin;
    const at::Tensor own = rows.narrow(1, begin, size);
    const at::Tensor part = gram.narrow(1, begin, size);
    at::Tensor product = at::mm(own, part.narrow(0, begin, size));
    if (begin > 0) {
      product.addmm_(rows.narrow(1, 0, begin), part.narrow(0, 0, begin), 1, 2);
    }
    at::Tensor to = sums;
    to.add_(product.mul_(own).view({2, -1}).sum(1));
  });
}

}  // namespace quench::quantizers
