#include "core/plugin/handles/offered_tensor.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxName = 4096;
constexpr quench_dtype kHeld[] = {kFloat64, kFloat32, kFloat16, kBFloat16, kInt64,
                                  kInt32,   kInt16,   kInt8,    kUInt8,    kBool};

}  // namespace

TensorInfo offered_tensor(const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape, int32_t code, const std::string& where) {
  if (name == nullptr || *name == '\0' || strnlen(name, kMaxName + 1) > kMaxName) {
    fail(code, "{}: a tensor has no name, or one of more than {} bytes", where, kMaxName);
  }
  const std::string called = fmt::format("{}: tensor '{}'", where, printable(name));
  if (std::none_of(std::begin(kHeld), std::end(kHeld),
                   [&](quench_dtype held) { return same_dtype(held, dtype); })) {
    fail(code, "{}: type {}, which checkpoints do not hold", called, dtype_name(dtype));
  }
  if (dimensions < 0 || dimensions > QUENCH_MAX_DIMENSIONS ||
      (dimensions > 0 && shape == nullptr)) {
    fail(code, "{}: {} dimensions, wanted 0 to {}", called, dimensions, QUENCH_MAX_DIMENSIONS);
  }
  TensorInfo out{name, dtype, {shape, shape + dimensions}, 0};
  const std::optional<uint64_t> elements = element_count(out.shape);
  if (!elements || *elements > INT64_MAX / dtype_size(dtype)) {
    fail(code, "{}: shape {} is negative or has more than 2^63 bytes", called,
         shape_text(out.shape));
  }
  return out;
}

}  // namespace quench
