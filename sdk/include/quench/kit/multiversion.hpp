// Compiles a function once per instruction set; the loader chooses one for the processor when the
// plugin is loaded. All versions give the same bits, because loop iterations are independent and
// nothing is contracted (-ffp-contract=off). So the host's choice (kit::instructions), which is for
// kernels whose sums or roundings differ, does not matter here.
// QUENCH_ONLY_TARGET="avx2" compiles just that version, so that tests can run it.
#pragma once

#if defined(QUENCH_ONLY_TARGET)
#define QUENCH_MULTIVERSION __attribute__((target(QUENCH_ONLY_TARGET)))
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QUENCH_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define QUENCH_MULTIVERSION
#endif
