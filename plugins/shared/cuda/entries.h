/* What kernels.so tells of itself. It is loaded late, by dlopen, so that the same build runs where
 * there is no GPU; loading it needs no driver. The functions that compute are declared beside their
 * kernels (entries.hpp).
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The architectures that it has machine code for, and the one that others can be compiled from:
 * "sm_80 sm_90 sm_100 compute_100". */
const char* quench_cuda_architectures(void);

/* How many devices this process can use: 0 or more, or -1 with the reason in why. */
int quench_cuda_devices(char* why, size_t why_bytes);

#ifdef __cplusplus
}
#endif
