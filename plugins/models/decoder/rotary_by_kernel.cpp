#include "models/decoder/rotary_by_kernel.hpp"

#include "models/decoder/device/entries.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::decoder {

namespace {

template <typename T, typename A>
void run(const at::Tensor& x, const Angles& angles, const char* entry) {
  const auto half = static_cast<uint32_t>(angles.cos.size(3));
  const RotateElements<T, A> rule{static_cast<T*>(x.mutable_data_ptr()),
                                  static_cast<const A*>(angles.cos.const_data_ptr()),
                                  static_cast<const A*>(angles.sin.const_data_ptr()),
                                  static_cast<uint32_t>(x.size(1)),
                                  static_cast<uint32_t>(x.size(2)),
                                  half,
                                  angles.cos.size(0) > 1 ? 1U : 0U,
                                  x.stride(0),
                                  x.stride(1),
                                  x.stride(2)};
  const cuda::ForEach<RotateElements<T, A>> kernel{rule, x.size(0) * x.size(1) * x.size(2) * half};
  cuda::run_kernel(entry, kernel, x.device());
}

}  // namespace

bool has_rotation_kernel(const at::Tensor& x, const Angles& angles) {
  const int64_t pairs = x.size(0) * x.size(1) * x.size(2) * angles.cos.size(3);
  const at::ScalarType type = x.scalar_type();
  const at::ScalarType angle = angles.cos.scalar_type();
  const bool same = type == angle && type != at::kHalf;
  return pairs < int64_t{1} << 32 && angles.cos.is_contiguous() && angles.sin.is_contiguous() &&
         (same || (type == at::kBFloat16 && angle == at::kFloat)) && cuda::runs_kernels(x.device());
}

bool rotate_by_kernel(const at::Tensor& x, const Angles& angles) {
  if (x.stride(3) != 1 || !has_rotation_kernel(x, angles)) {
    return false;
  }
  const at::ScalarType type = x.scalar_type();
  const at::ScalarType angle = angles.cos.scalar_type();
  if (type == at::kDouble && angle == at::kDouble) {
    run<double, double>(x, angles, kRotateDouble);
  } else if (type == at::kFloat && angle == at::kFloat) {
    run<float, float>(x, angles, kRotateFloat);
  } else if (type == at::kBFloat16 && angle == at::kBFloat16) {
    run<cuda::Bfloat16, cuda::Bfloat16>(x, angles, kRotateBfloat16);
  } else {
    run<cuda::Bfloat16, float>(x, angles, kRotateBfloat16ByFloat);
  }
  return true;
}

}  // namespace quench::decoder
