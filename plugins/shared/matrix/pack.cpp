#include "shared/matrix/kernel.hpp"

#define QUENCH_ISA_FILE "shared/matrix/pack_isa.hpp"
#include "shared/matrix/each_isa.hpp"

namespace quench::matrix {

template <typename From, typename T>
void pack(Isa isa, const Operand<From>& from, int64_t count, int64_t depth, int64_t width, T* to) {
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::pack(from, count, depth, width, to);
  }
  if (isa == Isa::kAvx2) {
    return avx2::pack(from, count, depth, width, to);
  }
#endif
  portable::pack(from, count, depth, width, to);
}

template void pack(Isa, const Operand<float>&, int64_t, int64_t, int64_t, float*);
template void pack(Isa, const Operand<double>&, int64_t, int64_t, int64_t, double*);
template void pack(Isa, const Operand<float>&, int64_t, int64_t, int64_t, double*);
template void pack(Isa, const Operand<Bfloat16>&, int64_t, int64_t, int64_t, float*);
template void pack(Isa, const Operand<Float16>&, int64_t, int64_t, int64_t, float*);

#ifdef QUENCH_X86_KERNELS
template <>
void pack(Isa, const Operand<Bfloat16Pair>& from, int64_t count, int64_t depth, int64_t width,
          Bfloat16Pair* to) {
  avx512::pack_pairs(from, count, depth, width, to);
}
#endif

}  // namespace quench::matrix
