#include "models/decoder/row_exponentials.hpp"

#define QUENCH_ISA_FILE "models/decoder/row_exponentials_isa.hpp"
#include "shared/matrix/each_isa.hpp"

namespace quench::decoder {

using matrix::Isa;

template <typename T>
RowSum sum_exponentials(Isa isa, const T* row, int64_t count) {
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::sum_exponentials(row, count);
  }
  if (isa == Isa::kAvx2) {
    return avx2::sum_exponentials(row, count);
  }
#endif
  return portable::sum_exponentials(row, count);
}

template <typename T>
void exponentiate(Isa isa, T* scores, int64_t count, int64_t size, RunningRow<T>& row, T* output,
                  int64_t width) {
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::exponentiate(scores, count, size, row, output, width);
  }
  if (isa == Isa::kAvx2) {
    return avx2::exponentiate(scores, count, size, row, output, width);
  }
#endif
  portable::exponentiate(scores, count, size, row, output, width);
}

template <typename T>
void divide(Isa isa, const T* from, T by, int64_t count, T* to) {
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::divide(from, by, count, to);
  }
  if (isa == Isa::kAvx2) {
    return avx2::divide(from, by, count, to);
  }
#endif
  portable::divide(from, by, count, to);
}

template RowSum sum_exponentials(Isa, const float*, int64_t);
template RowSum sum_exponentials(Isa, const double*, int64_t);
template void exponentiate(Isa, float*, int64_t, int64_t, RunningRow<float>&, float*, int64_t);
template void exponentiate(Isa, double*, int64_t, int64_t, RunningRow<double>&, double*, int64_t);
template void divide(Isa, const float*, float, int64_t, float*);
template void divide(Isa, const double*, double, int64_t, double*);

}  // namespace quench::decoder
