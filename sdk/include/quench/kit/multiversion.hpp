// Functions compiled once per instruction set; the linker chooses by the processor when the plugin
// is loaded. All versions give the same bits: each loop iteration is independent, and nothing is
// contracted (-ffp-contract=off). So the host's choice (kit::instructions) need not hold here: it
// is for kernels whose sums or roundings differ.
// A file compiled with QUENCH_ONLY_TARGET="avx2" has that one version, so that tests can run it.
#pragma once

#if defined(QUENCH_ONLY_TARGET)
#define QUENCH_MULTIVERSION __attribute__((target(QUENCH_ONLY_TARGET)))
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define QUENCH_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define QUENCH_MULTIVERSION
#endif
