// The instruction set of these kernels. Each kernel has three versions, and the host chooses which
// one runs; the processor's vendor and libraries have no say. Products of bfloat16 have a fourth.
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
  const int32_t chosen = kit::instructions();
  return chosen == QUENCH_INSTRUCTIONS_AVX512_BF16 ? Isa::kAvx512 : static_cast<Isa>(chosen);
}

// Whether bfloat16 is multiplied in pairs, by VDPBF16PS: the user asked for it, and the processor
// has it.
inline bool multiplies_pairs() {
  return kit::instructions() == QUENCH_INSTRUCTIONS_AVX512_BF16;
}

}  // namespace quench::matrix
