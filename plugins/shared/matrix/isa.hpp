// The instruction set of these kernels. Each kernel has three versions, and the host chooses which
// one runs; the processor's vendor and libraries have no say.
#pragma once

#include <cstdint>

#include "quench/kit/host.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define QUENCH_X86_KERNELS 1
#endif

namespace quench::matrix {

enum class Isa : int32_t {
  kPortable = QUENCH_INSTRUCTIONS_PORTABLE,
  kAvx2 = QUENCH_INSTRUCTIONS_AVX2,
  kAvx512 = QUENCH_INSTRUCTIONS_AVX512,
};

// The host's choice.
inline Isa isa() {
  return static_cast<Isa>(kit::instructions());
}

}  // namespace quench::matrix
