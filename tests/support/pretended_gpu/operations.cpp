// libtorch's operations on cuda:0 of a GPU that is none: each runs on the processor, on copies of
// its tensors, and what it makes is copied back. So a model or a method goes the way that it goes
// on a GPU, and is told where it leaves that way: memory of the device is closed to anyone else,
// and tensors of an operation must lie together, as CUDA's own operations want them to.
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/recording.hpp"

namespace quench::test {

namespace {

// While an operation is answered, its copies are the stand-in's own.
thread_local bool answering = false;
void count(const char* name) {
  if (!answering) {
    pretended_count(name);
  }
}

// The same elements through the address that is open; host memory as a copy may read or write it.
at::Tensor opened(const at::Tensor& tensor) {
  if (!tensor.is_cuda()) {
    pretended_copies(tensor.data_ptr(), tensor.nbytes());
    return tensor;
  }
  return at::from_blob(pretended_inside(tensor.data_ptr()), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU));
}

at::Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>,
                 std::optional<c10::MemoryFormat> format) {
  TORCH_CHECK(device && device->is_cuda() && device->index() <= 0, "this GPU has one device");
  return at::detail::empty_generic(size, c10::GetAllocator(at::kCUDA),
                                   c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                         std::optional<c10::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(at::kCUDA),
                                           c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           c10::dtype_or_default(dtype));
}

// What CUDA refuses while a stream is captured.
void expect_no_recording(const char* what) {
  const bool refused = !answering && is_recording();
  if (refused) {
    spoil_recording();
  }
  TORCH_CHECK(!refused, "operation not permitted when stream is capturing: ", what);
}

at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool) {
  count(!to.is_cuda()     ? "wait: copy to the host"
        : !from.is_cuda() ? "copy from the host"
                          : "aten::copy_");
  if (answering || !is_recording()) {
    opened(to).copy_(opened(from));
    return to;
  }
  if (!to.is_cuda() || !from.is_cuda()) {
    expect_no_recording("a copy from or to memory of the host");
  }
  tell([to, from] { opened(to).copy_(opened(from)); });
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) {
    to.resize_(from.sizes());
  }
  opened(to).copy_(opened(from));
  return to;
}

at::Scalar item(const at::Tensor& tensor) {
  expect_no_recording("a number");
  count("wait: a number");
  return at::native::_local_scalar_dense_cpu(opened(tensor));
}

const at::Tensor& resize(const at::Tensor& self, c10::SymIntArrayRef size,
                         std::optional<at::MemoryFormat> format) {
  return at::native::resize_(self, C10_AS_INTARRAYREF_SLOW(size), format);
}

at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor reshape_alias(const at::Tensor& self, c10::SymIntArrayRef size,
                         c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size),
                                    C10_AS_INTARRAYREF_SLOW(stride));
}

at::Tensor as_strided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  return at::native::as_strided_tensorimpl(
      self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
      offset ? std::optional<int64_t>(offset->expect_int()) : std::nullopt);
}

// Products of 16-bit floats into float32, which libtorch has for GPUs alone. Products of two such
// numbers are exact in float32.
at::Tensor wide_mm(const at::Tensor& a, const at::Tensor& b, at::ScalarType to) {
  return at::mm(a.to(to), b.to(to));
}
at::Tensor& wide_mm_out(const at::Tensor& a, const at::Tensor& b, at::ScalarType to,
                        at::Tensor& out) {
  return out.copy_(wide_mm(a, b, to));
}
at::Tensor& wide_addmm_out(const at::Tensor& added, const at::Tensor& a, const at::Tensor& b,
                           at::ScalarType to, const at::Scalar& beta, const at::Scalar& alpha,
                           at::Tensor& out) {
  return out.copy_(added.mul(beta).add(wide_mm(a, b, to), alpha));
}
at::Tensor wide_bmm(const at::Tensor& a, const at::Tensor& b, at::ScalarType to) {
  return at::bmm(a.to(to), b.to(to));
}

at::Tensor softmax(const at::Tensor& x, int64_t dim, bool half_to_float) {
  if (half_to_float) {
    return at::_softmax(x.to(at::kFloat), dim, false);
  }
  count("aten::_softmax");
  const at::Tensor y = at::empty(x.sizes(), x.options());
  tell([x, y, dim] { opened(y).copy_(at::_softmax(opened(x), dim, false)); });
  return y;
}

// Exact sums; of sizes that cuBLAS takes. (The processor's own form saturates in 16 bits where
// oneDNN may not use VNNI.)
at::Tensor int8_mm(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.size(0) > 16 && a.size(1) % 8 == 0 && b.size(1) % 8 == 0, "_int_mm: ", a.sizes(),
              " by ", b.sizes(), ": wanted more than 16 rows, and multiples of 8");
  return at::mm(a.to(at::kDouble), b.to(at::kDouble)).to(at::kInt);
}

// What CUDA's operations refuse: tensors in two memories, unless one is a number or an index.
void expect_together(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  static const std::set<std::string> takes_both = {"aten::index_put_", "aten::index",
                                                   "aten::_index_put_impl_"};
  const std::string name = op.schema().name();
  const auto check = [&](const at::Tensor& tensor) {
    TORCH_CHECK(!tensor.defined() || tensor.is_cuda() || tensor.dim() == 0, name, ": a tensor of ",
                tensor.sizes(), " in host memory beside one on cuda:0");
  };
  if (takes_both.contains(name)) {
    return;
  }
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (value.isTensor()) {
      check(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        check(tensor);
      }
    }
  }
}

void answer(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const bool outer = std::exchange(answering, true);
  try {
    at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
  } catch (...) {
    answering = outer;
    throw;
  }
  answering = outer;
}

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  return value.isTensor()       ? std::vector<at::Tensor>{value.toTensor()}
         : value.isTensorList() ? value.toTensorVector()
                                : std::vector<at::Tensor>();
}

// The operation on what it was given, as the device does it: derivatives were recorded before.
torch::jit::Stack done_again(const c10::OperatorHandle& op, torch::jit::Stack given) {
  const at::AutoDispatchBelowADInplaceOrView below;
  answer(op, &given);
  return given;
}

// An operation that changes its arguments is not done, and gives them back. Any other is done once,
// for what its results look like; their floats are NaN until the recording is told again.
void keep(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const size_t count = schema.arguments().size();
  const torch::jit::Stack given = torch::jit::last(*stack, count).vec();
  torch::jit::Stack results = given;
  if (!schema.is_mutable()) {
    answer(op, &results);
    for (const c10::IValue& result : results) {
      for (const at::Tensor& tensor : tensors_of(result)) {
        if (tensor.defined() && tensor.is_floating_point()) {
          std::memset(pretended_inside(tensor.data_ptr()), 0xff, tensor.nbytes());
        }
      }
    }
    tell([op, given, results] {
      const torch::jit::Stack again = done_again(op, given);
      for (size_t i = 0; i < results.size(); ++i) {
        const std::vector<at::Tensor> to = tensors_of(results[i]);
        const std::vector<at::Tensor> from = tensors_of(again[i]);
        for (size_t k = 0; k < to.size(); ++k) {
          if (to[k].defined()) {
            opened(to[k]).copy_(opened(from[k]));
          }
        }
      }
    });
  } else {
    tell([op, given] { done_again(op, given); });
    results.clear();
    for (const auto& result : schema.returns()) {
      for (size_t i = 0; i < count; ++i) {
        const auto* alias = schema.arguments()[i].alias_info();
        if (alias != nullptr && alias->isWrite() && result.alias_info() != nullptr &&
            alias->beforeSets() == result.alias_info()->beforeSets()) {
          results.push_back(given[i]);
        }
      }
    }
  }
  torch::jit::drop(*stack, count);
  stack->insert(stack->end(), results.begin(), results.end());
}

void on_processor(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  expect_together(op, *stack);
  count(op.schema().name().c_str());
  if (!answering && is_recording()) {
    keep(op, stack);
  } else {
    answer(op, stack);
  }
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("copy_", copy);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", item);
  library.impl("resize_", resize);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("as_strided", as_strided);
  library.impl("unfold", at::native::unfold);
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  library.impl("mm.dtype", wide_mm);
  library.impl("mm.dtype_out", wide_mm_out);
  library.impl("addmm.dtype_out", wide_addmm_out);
  library.impl("bmm.dtype", wide_bmm);
  library.impl("_int_mm", int8_mm);
  library.impl("_softmax", softmax);
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_processor>());
}

}  // namespace quench::test
