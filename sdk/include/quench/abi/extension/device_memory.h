/* Model extension that says how much memory the model's device has, and gives host memory that it
 * copies at its full rate, so that the host can keep there what the device has no room for.
 */
#ifndef QUENCH_ABI_EXTENSION_DEVICE_MEMORY_H
#define QUENCH_ABI_EXTENSION_DEVICE_MEMORY_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_DEVICE_MEMORY "quench.model.device_memory/1"

/* The process cannot write to the memory. */
#define QUENCH_PIN_READ_ONLY 1u

/* A family offers it only for a model on a device that has memory of its own. */
typedef struct quench_model_device_memory {
  uint32_t struct_size;
  /* Bytes of the device that an allocation could have now, and all that it has.
   * [instance-serial] */
  quench_status (*available)(quench_model* model, uint64_t* free_bytes, uint64_t* total_bytes,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Host memory for quench_model_table.copy to and from the device (page-locked for a GPU), aligned
   * to 64 bytes, not cleared; RESOURCE_EXHAUSTED says how many bytes were wanted. The caller
   * releases it before it closes the model. [instance-serial] */
  /*: local memory for copies to a device stays in the process of the family */
  quench_status (*allocate_host)(quench_model* model, uint64_t bytes, void** memory,
                                 quench_error* error) QUENCH_NOEXCEPT;
  /*: local memory for copies to a device stays in the process of the family */
  void (*release_host)(quench_model* model, void* memory) QUENCH_NOEXCEPT;

  /* What follows, a table whose struct_size ends before it does not have; NULL says the same. */

  /* Registers memory that the host has already, so that quench_model_table.copy and the other
   * functions that are given tensors there copy it as what allocate_host gives, to and from this
   * device and others: pages of one mapping that stay where they are. Ranges never overlap, and a
   * tensor lies in one of them or in none. flags: QUENCH_PIN_*. The memory stays the host's, which
   * unpins it before it unmaps it, gives its pages back to the system, or closes the model. Any
   * error says that nothing has changed; the host goes on with memory that is not pinned.
   * [instance-serial] */
  /*: optional group pin; local memory for copies to a device stays in the process of the family */
  quench_status (*pin_host)(quench_model* model, void* memory, uint64_t bytes, uint32_t flags,
                            quench_error* error) QUENCH_NOEXCEPT;
  /* The range that was pinned at `memory`. [thread-safe] */
  /*: optional group pin; local memory for copies to a device stays in the process of the family */
  void (*unpin_host)(quench_model* model, void* memory) QUENCH_NOEXCEPT;
} quench_model_device_memory;

#ifdef __cplusplus
}
#endif
#endif
