/* What graphs.so offers: what libtorch and kernels.so tell a GPU, recorded once and told again at
 * once (a CUDA graph). It needs libtorch's part for CUDA, so it is a file of its own beside
 * kernels.so, which any plugin may load. All functions of one thread; 0, or 1 with the reason in
 * why, cut to why_bytes.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on nothing that this thread, and libtorch's threads for it, tell `device` is done: it is
 * recorded, until end. `stream` becomes where kernels have to be started meanwhile
 * (quench_cuda_use_stream), which no other thread may do in that time. What is allocated meanwhile
 * is the recording's own; `beside` (or null) lends its memory, so that only one of both may be told
 * at a time. */
int quench_cuda_graph_begin(int device, const void* beside, void** graph, void** stream, char* why,
                            size_t why_bytes);
/* Fails where something was told that cannot be recorded: a wait, a copy of memory of the host that
 * is not page-locked. A copy of page-locked memory is recorded, and reads it again each time. */
int quench_cuda_graph_end(void* graph, char* why, size_t why_bytes);
/* Tells the device all of it, after what it was told before; waits for nothing. */
int quench_cuda_graph_run(void* graph, char* why, size_t why_bytes);
/* Also of one that was not ended, or not well. */
void quench_cuda_graph_release(void* graph);

#ifdef __cplusplus
}
#endif
