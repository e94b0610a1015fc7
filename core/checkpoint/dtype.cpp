#include "core/checkpoint/dtype.hpp"

#include <algorithm>
#include <array>

#include "core/checkpoint/stored_dtype.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

struct Named {
  const char* name;
  quench_dtype dtype;
};

constexpr std::array<Named, 11> kTypes{{{"F64", kFloat64},
                                        {"F32", kFloat32},
                                        {"F16", kFloat16},
                                        {"BF16", kBFloat16},
                                        {"I64", kInt64},
                                        {"I32", kInt32},
                                        {"I16", kInt16},
                                        {"I8", kInt8},
                                        {"U8", kUInt8},
                                        {"BOOL", kBool},
                                        {"F8_E4M3", kFloat8E4M3}}};

constexpr std::array<const char*, 12> kUnsupported{
    "U64",     "U32", "U16", "F8_E5M2",     "F8_E8M0",     "F6_E2M3",
    "F6_E3M2", "F4",  "C64", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C128"};

}  // namespace

bool same_dtype(quench_dtype a, quench_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

uint64_t dtype_size(quench_dtype dtype) {
  return uint64_t{dtype.bits} * dtype.lanes / 8;
}

std::string dtype_name(quench_dtype dtype) {
  for (const Named& type : kTypes) {
    if (same_dtype(type.dtype, dtype)) {
      return type.name;
    }
  }
  return fmt::format("dtype({},{},{})", dtype.code, dtype.bits, dtype.lanes);
}

quench_dtype dtype_from_name(std::string_view name, const std::string& where) {
  for (const Named& type : kTypes) {
    if (type.name == name) {
      return type.dtype;
    }
  }
  const bool known =
      std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end();
  fail(known ? QUENCH_UNSUPPORTED : QUENCH_INVALID_ARGUMENT,
       "{}: {} element type '{}', wanted F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL{}",
       where, known ? "unsupported" : "unknown", printable(name, 40),
       known ? "; cast it in Python, value.to(torch.bfloat16), and save again" : "");
}

}  // namespace quench
