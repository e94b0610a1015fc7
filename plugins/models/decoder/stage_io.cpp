#include "models/decoder/stage_io.hpp"

#include <ATen/ops/empty_like.h>

#include <string>

#include "models/decoder/elementwise.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

std::vector<at::Tensor> borrow_all(const quench_tensor* views, uint32_t count,
                                   std::span<const quench_carry_info> carries, int64_t tokens,
                                   at::Device device, const char* direction) {
  if (count != carries.size()) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "stage: %u tensors %s, wanted %zu", count, direction,
              carries.size());
  }
  std::vector<at::Tensor> borrowed;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string what = std::string("stage: ") + direction + " " + carries[i].name;
    borrowed.push_back(borrow_rows(&views[i], tokens * carries[i].rows_per_token, carries[i].width,
                                   carries[i].dtype, device, what.c_str()));
  }
  return borrowed;
}

}  // namespace

at::Tensor borrow_rows(const quench_tensor* view, int64_t rows, int64_t width, quench_dtype dtype,
                       at::Device device, const char* what) {
  if (view == nullptr) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no tensor", what);
  }
  const int64_t wanted[] = {rows, width};
  const bool shaped = view->dimensions == 2 && view->shape[0] == rows && view->shape[1] == width;
  if (!shaped || !kit::same(view->dtype, dtype)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s %s, wanted %s %s", what,
              kit::name_of(view->dtype).c_str(), kit::shape_text(kit::shape_of(*view)).c_str(),
              kit::name_of(dtype).c_str(), kit::shape_text(wanted).c_str());
  }
  const bool on_device = view->device.type == QUENCH_DEVICE_CPU
                             ? device.is_cpu()
                             : device.is_cuda() && device.index() == view->device.index;
  if (!on_device) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: on device %d:%d, the model is on %s", what,
              view->device.type, view->device.index, device.str().c_str());
  }
  if (!kit::is_contiguous(*view)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: wanted C order, got other strides", what);
  }
  return kit::borrow(*view);
}

StageIo::StageIo(const quench_stage_args& args, const BlockPlan& plan, const Batch& batch,
                 at::Device device)
    : in_(borrow_all(args.in, args.in_count, plan.carry(args.stage), batch.tokens(), device, "in")),
      out_(borrow_all(args.out, args.out_count, plan.carry(args.stage + 1), batch.tokens(), device,
                      "out")) {}

at::Tensor StageIo::scratch(size_t i) const {
  if (recording()) {
    return {};
  }
  for (const at::Tensor& in : in_) {
    if (in.const_data_ptr() == out_[i].const_data_ptr()) {
      return out_[i].is_cpu() ? kit::host_empty(out_[i].sizes(), out_[i].scalar_type())
                              : at::empty_like(out_[i]);
    }
  }
  return out_[i];
}

at::Tensor StageIo::apply(size_t i, const Linear& linear, const at::Tensor& x) const {
  if (recording()) {
    return linear(x);
  }
  at::Tensor y = scratch(i);
  linear.into(x, y);
  return y;
}

void StageIo::put(size_t i, const at::Tensor& value) const {
  if (recording()) {
    out_[i] = value;
  } else if (value.const_data_ptr() != out_[i].const_data_ptr()) {
    copy_rows(value, out_[i]);
  }
}

void StageIo::put_sum(size_t i, const at::Tensor& a, const at::Tensor& b) const {
  if (recording()) {
    out_[i] = sum_of(a, b);
  } else {
    add_rows(a, b, out_[i]);
  }
}

}  // namespace quench::decoder
