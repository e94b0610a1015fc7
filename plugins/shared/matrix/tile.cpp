#include "shared/matrix/tile.hpp"

#define QUENCH_ISA_FILE "shared/matrix/tile_isa.hpp"
#define QUENCH_ISA_PAIRS 1
#include "shared/matrix/each_isa.hpp"

namespace quench::matrix {

template <typename T, typename To>
void run_tile(Isa isa, const Panel<T>& a, const T* b, int64_t depth, const Tile<Sum<T>, To>& tile) {
#ifdef QUENCH_X86_KERNELS
  if (isa == Isa::kAvx512) {
    return avx512::run(a, b, depth, tile);
  }
  if (isa == Isa::kAvx2) {
    return avx2::run(a, b, depth, tile);
  }
#endif
  portable::run(a, b, depth, tile);
}

template void run_tile(Isa, const Panel<float>&, const float*, int64_t, const Tile<float, float>&);
template void run_tile(Isa, const Panel<float>&, const float*, int64_t, const Tile<float, double>&);
template void run_tile(Isa, const Panel<double>&, const double*, int64_t,
                       const Tile<double, double>&);

#ifdef QUENCH_X86_KERNELS
template <>
void run_tile(Isa, const Panel<Bfloat16Pair>& a, const Bfloat16Pair* b, int64_t depth,
              const Tile<float, float>& tile) {
  avx512_bf16::run(a, b, depth, tile);
}
#endif

}  // namespace quench::matrix
