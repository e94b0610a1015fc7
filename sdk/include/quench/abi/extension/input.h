/* Host service that opens files for a plugin, so that what the plugin computes with is what the key
 * of the value says.
 *
 * The host hashes a file when it is first opened and compares all that it hands out with that hash.
 * A file that a parameter of type QUENCH_PARAMETER_PATH names is in the key by its content, and
 * must still have it. Any other file, with its hash, goes into the key of the value that is
 * measured, which is used again only while the file has that content. A plugin with such a
 * parameter that opens the file by itself gives values that say `inputs: unchecked` and are not
 * shared between runs.
 *
 * A plugin in a process of its own may open what its sandbox lets it read: with a parameter of type
 * QUENCH_PARAMETER_PATH all, else what lies in its own folder.
 */
#ifndef QUENCH_ABI_EXTENSION_INPUT_H
#define QUENCH_ABI_EXTENSION_INPUT_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_SERVICE_INPUT "quench.input/1"

#define QUENCH_INPUT_VARIABLE (1u << 0)  /* the name is that of an environment variable */
#define QUENCH_INPUT_OF_MODULE (1u << 1) /* for all items of the module, not for this instance */

typedef struct quench_input_service {
  uint32_t struct_size;
  /* Opens a regular file and writes its size and its SHA-256 (64 hex digits and NUL). The host
   * reads it to its end the first time. NOT_FOUND, INVALID_ARGUMENT for what is no regular file,
   * FAILED_PRECONDITION for what the plugin may not read; UNAVAILABLE for other bytes than those of
   * the key, which the plugin passes on. There is nothing to close. [thread-safe] */
  quench_status (*open)(const quench_host* host, const char* path, uint64_t* size, char sha256[65],
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Copies `bytes` bytes from `offset` on. FAILED_PRECONDITION for a file that was not opened,
   * INVALID_ARGUMENT for a range beyond its end, UNAVAILABLE for bytes that are not those that were
   * hashed, which the plugin passes on. Reads whole pieces of 1 MiB from the disk. [thread-safe] */
  quench_status (*read)(const quench_host* host, const char* path, uint64_t offset, uint64_t bytes,
                        void* destination /*: is out bytes[bytes] */,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Says that the plugin is about to read a file, or a variable, by itself: for libraries that
   * take names of files. The host looks at it now and before the value is recorded. What is not
   * there, is noted as absent. flags: QUENCH_INPUT_*. UNAVAILABLE as `open`. [thread-safe] */
  quench_status (*note)(const quench_host* host, uint32_t flags, const char* name,
                        quench_error* error) QUENCH_NOEXCEPT;
} quench_input_service;

#ifdef __cplusplus
}
#endif
#endif
