// Functions that nvcc compiles for a GPU too. For any other compiler the words mean nothing.
#pragma once

#ifdef __CUDACC__
#define QUENCH_BOTH __host__ __device__  // called on the host and in kernels
#define QUENCH_KERNEL __device__         // the body of a kernel; on the host where nvcc is not used
#else
#define QUENCH_BOTH
#define QUENCH_KERNEL
#endif
