// Compiles the file that QUENCH_ISA_FILE names once per instruction set, each time after simd.hpp,
// in namespace quench::matrix::avx512, ::avx2 or ::portable (QUENCH_ISA_NAMESPACE). With
// QUENCH_ISA_PAIRS also in ::avx512_bf16, where QUENCH_ISA_HAS_PAIRS is defined.
//
// If such a file shared an inline function with code that is compiled elsewhere, the linker could
// keep the version with wrong instructions for all machines. So it defines everything in its
// namespace, and calls no inline function or template of a header except those of simd.hpp.
#include <cstdint>

#include "shared/matrix/isa.hpp"

#if defined(QUENCH_X86_KERNELS)
#include <immintrin.h>

#if defined(QUENCH_ISA_PAIRS)
#define QUENCH_ISA_BYTES 64
#define QUENCH_ISA_NAMESPACE avx512_bf16
#define QUENCH_ISA_HAS_PAIRS 1
#if defined(__clang__)
#pragma clang attribute push(                                                          \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif
#include "shared/matrix/simd.hpp"
#include QUENCH_ISA_FILE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef QUENCH_ISA_BYTES
#undef QUENCH_ISA_NAMESPACE
#undef QUENCH_ISA_HAS_PAIRS
#endif

#define QUENCH_ISA_BYTES 64
#define QUENCH_ISA_NAMESPACE avx512
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif
#include "shared/matrix/simd.hpp"
#include QUENCH_ISA_FILE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef QUENCH_ISA_BYTES
#undef QUENCH_ISA_NAMESPACE

#define QUENCH_ISA_BYTES 32
#define QUENCH_ISA_NAMESPACE avx2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "shared/matrix/simd.hpp"
#include QUENCH_ISA_FILE
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef QUENCH_ISA_BYTES
#undef QUENCH_ISA_NAMESPACE
#endif

#define QUENCH_ISA_BYTES 16
#define QUENCH_ISA_NAMESPACE portable
#include "shared/matrix/simd.hpp"
#include QUENCH_ISA_FILE
#undef QUENCH_ISA_BYTES
#undef QUENCH_ISA_NAMESPACE
#undef QUENCH_ISA_FILE
