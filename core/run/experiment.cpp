#include "core/run/experiment.hpp"

#include <charconv>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

quench_dtype parse_dtype(const std::string& text) {
  if (text == "float32" || text == "fp32") {
    return kFloat32;
  }
  if (text == "float64" || text == "fp64") {
    return kFloat64;
  }
  if (text == "bfloat16" || text == "bf16") {
    return kBFloat16;
  }
  if (text == "float16" || text == "fp16") {
    return kFloat16;
  }
  fail(QUENCH_INVALID_ARGUMENT,
       "dtype = \"{}\", expected one of float32, float64, bfloat16, float16", printable(text));
}

std::string dtype_text(quench_dtype dtype) {
  return fmt::format("{}float{}", dtype.code == QUENCH_DTYPE_BFLOAT ? "b" : "", dtype.bits);
}

quench_device parse_device(const std::string& text) {
  if (text == "cpu") {
    return {QUENCH_DEVICE_CPU, 0};
  }
  if (text == "cuda") {
    return {QUENCH_DEVICE_CUDA, 0};
  }
  const std::string prefix = "cuda:";
  int32_t index = -1;
  if (text.rfind(prefix, 0) == 0) {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + prefix.size(), end, index);
    if (read.ec == std::errc() && read.ptr == end && index >= 0) {
      return {QUENCH_DEVICE_CUDA, index};
    }
  }
  fail(QUENCH_INVALID_ARGUMENT, "device = \"{}\", expected cpu or cuda:N", printable(text));
}

std::string device_text(quench_device device) {
  return device.type == QUENCH_DEVICE_CPU ? "cpu" : fmt::format("cuda:{}", device.index);
}

}  // namespace quench
