/* Host memory that poses as a device's. Only code that stands for the device's may touch it,
 * between enter and leave or through another address: any other access ends the process. */
#ifndef QUENCH_TESTS_PRETENDED_MEMORY_H
#define QUENCH_TESTS_PRETENDED_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed; NULL if there is none. */
void* pretended_allocate(size_t bytes);
void pretended_release(void* memory);
/* Where code that stands for the device's may touch the same memory at any time; an address that is
 * not the device's is given back. */
void* pretended_inside(const void* memory);
/* For code that has only the device's addresses. May be nested, on any thread; leaving the
 * outermost closes the memory. */
void pretended_enter(void);
void pretended_leave(void);
/* One more of what a device is asked: an operation, a kernel, or a wait until it has answered. When
 * the process ends, the file that PRETENDED_CENSUS names gets a line "count name" of each. */
void pretended_count(const char* name);
/* Host memory that is page-locked for the device: 0 where a part of it is already. A copy of what
 * is page-locked in part only ends the process, as it is an error to CUDA. */
int pretended_pin(const void* memory, size_t bytes);
int pretended_unpin(const void* memory);
void pretended_copies(const void* memory, size_t bytes);
/* Bytes that are allocated now, and the most at once since the last call. */
size_t pretended_bytes(void);
size_t pretended_peak(void);
/* What the device says is free from now on: 1 GiB at first. The second gives it. */
void pretended_free_bytes(size_t bytes);
size_t pretended_free(void);

#ifdef __cplusplus
}

namespace quench::test {

// The time in which device code runs.
class OnPretendedDevice {
 public:
  OnPretendedDevice() { pretended_enter(); }
  ~OnPretendedDevice() { pretended_leave(); }
  OnPretendedDevice(const OnPretendedDevice&) = delete;
  OnPretendedDevice& operator=(const OnPretendedDevice&) = delete;
};

}  // namespace quench::test
#endif
#endif
