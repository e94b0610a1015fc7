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

/* Zeroed memory of a device, for plugins that do not link libtorch. 0, or 1 with the reason in why;
 * no such device and no such memory are both reasons. */
int quench_cuda_allocate(int device, size_t bytes, void** memory, char* why, size_t why_bytes);
void quench_cuda_release(int device, void* memory);

/* Copies between memory of the device and of the host, in any direction, after what was started on
 * the device; returns when the bytes have arrived. 0, or 1 with the reason in why. */
int quench_cuda_copy(int device, void* to, const void* from, size_t bytes, char* why,
                     size_t why_bytes);

/* Page-locks memory of the host for copies to and from all devices; `read_only`: the process cannot
 * write there. 0, or 1 with the reason in why. What is unpinned was pinned from `memory` on. */
int quench_cuda_pin(int device, void* memory, size_t bytes, int read_only, char* why,
                    size_t why_bytes);
void quench_cuda_unpin(int device, void* memory);

/* Where kernels are started from now on, whatever the thread: a cudaStream_t, or NULL for the one
 * that all are started on at first. For the time in which work is recorded (graphs.h). */
void quench_cuda_use_stream(void* stream);

#ifdef __cplusplus
}
#endif
