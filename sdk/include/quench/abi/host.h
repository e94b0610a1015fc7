/* What the host offers to a plugin. A module receives one quench_host in `init` and asks it for
 * service tables by id; a table lives as long as the process. A service that the host does not have
 * is NULL. Required of every host: log, cancel, memory, random, tasks, processor, json.
 */
#ifndef QUENCH_ABI_HOST_H
#define QUENCH_ABI_HOST_H

#include "quench/abi/status.h"
#include "quench/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quench_host {
  uint32_t struct_size;
  uint32_t abi_minor;
  void* context;
  const char* version; /* of the host, "0.1.0" */
  /* The service table for `id`, or NULL. [thread-safe] */
  const void* (*service)(const struct quench_host* host, const char* id) QUENCH_NOEXCEPT;
} quench_host;

/* ---- quench.log/1 ---------------------------------------------------------------------------- */
#define QUENCH_SERVICE_LOG "quench.log/1"
#define QUENCH_LOG_DEBUG 0
#define QUENCH_LOG_INFO 1
#define QUENCH_LOG_WARNING 2
#define QUENCH_LOG_ERROR 3

typedef struct quench_log {
  uint32_t struct_size;
  /* Writes one line, prefixed with the module's id. A plugin never writes to stdout or stderr
   * itself. [thread-safe] */
  void (*write)(const quench_host* host, int32_t level, const char* message) QUENCH_NOEXCEPT;
} quench_log;

/* ---- quench.progress/1, quench.cancel/1 ------------------------------------------------------ */
#define QUENCH_SERVICE_PROGRESS "quench.progress/1"
typedef struct quench_progress {
  uint32_t struct_size;
  /* `done` of `total` units of the piece of work named `what`; rate and ETA are the host's
   * business. Cheap enough to call per micro-batch. [thread-safe] */
  void (*report)(const quench_host* host, const char* what, uint64_t done,
                 uint64_t total) QUENCH_NOEXCEPT;
} quench_progress;

#define QUENCH_SERVICE_CANCEL "quench.cancel/1"
typedef struct quench_cancel {
  uint32_t struct_size;
  /* Non-zero once the user or the cluster asked to stop. A plugin whose call can last longer than
   * half a second polls it and returns QUENCH_CANCELLED. [thread-safe] */
  int32_t (*requested)(const quench_host* host) QUENCH_NOEXCEPT;
} quench_cancel;

/* ---- quench.memory/1 ------------------------------------------------------------------------- */
#define QUENCH_SERVICE_MEMORY "quench.memory/1"
typedef struct quench_memory {
  uint32_t struct_size;
  /* Host memory, 64-byte aligned, not cleared; NULL when there is none left. Memory that a plugin
   * lets the host see (weights above all) comes from here. [thread-safe] */
  void* (*allocate)(const quench_host* host, uint64_t bytes) QUENCH_NOEXCEPT;
  /* Gives it back; NULL is allowed. [thread-safe] */
  void (*release)(const quench_host* host, void* memory) QUENCH_NOEXCEPT;
} quench_memory;

/* ---- quench.random/1 ------------------------------------------------------------------------- */
#define QUENCH_SERVICE_RANDOM "quench.random/1"
typedef struct quench_random {
  uint32_t struct_size;
  /* The only source of randomness: Philox4x32-10 (Salmon et al. 2011) keyed by run seed, the
   * module's id and `stream` (a layer name, say). Fills `values` with numbers
   * counter .. counter+count-1 of that stream, uniform over 64 bits, the same on every machine.
   * [thread-safe] */
  void (*uniform)(const quench_host* host, const char* stream, uint64_t counter, uint64_t count,
                  uint64_t* values) QUENCH_NOEXCEPT;
} quench_random;

/* ---- quench.tasks/1 -------------------------------------------------------------------------- */
#define QUENCH_SERVICE_TASKS "quench.tasks/1"
typedef struct quench_tasks {
  uint32_t struct_size;
  /* Number of threads that this run may use. */
  uint32_t (*threads)(const quench_host* host) QUENCH_NOEXCEPT;
  /* Calls body(user, begin, end) for disjoint ranges that cover [0, count); ranges are `grain` long
   * but for the last one, whatever the number of threads, so that sums per range are reproducible.
   * Returns when all are done. A body returns QUENCH_OK or the status with which the whole call
   * fails; remaining ranges are then skipped. Not to be nested, and not to be called from inside
   * another library's parallel region. [any plugin call] */
  quench_status (*parallel_for)(const quench_host* host, uint64_t count, uint64_t grain,
                                quench_status (*body)(void* user, uint64_t begin, uint64_t end)
                                    QUENCH_NOEXCEPT,
                                void* user) QUENCH_NOEXCEPT;
} quench_tasks;

/* ---- quench.processor/1 ---------------------------------------------------------------------- */
#define QUENCH_SERVICE_PROCESSOR "quench.processor/1"
#define QUENCH_INSTRUCTIONS_PORTABLE 0 /* what every processor of the architecture has */
#define QUENCH_INSTRUCTIONS_AVX2 1     /* AVX2 and FMA */
#define QUENCH_INSTRUCTIONS_AVX512 2   /* AVX-512 F, BW, DQ and VL */

typedef struct quench_processor {
  uint32_t struct_size;
  /* The widest instruction set that kernels chosen at run time may use, QUENCH_INSTRUCTIONS_*: what
   * the processor has, or less where the user says so (QUENCH_ISA). It is part of every record's
   * key, so a kernel asks here and never the processor itself; the vendor decides nothing. The same
   * for the life of the process. [thread-safe] */
  int32_t (*instructions)(const quench_host* host) QUENCH_NOEXCEPT;
} quench_processor;

/* ---- quench.json/1 --------------------------------------------------------------------------- */
#define QUENCH_SERVICE_JSON "quench.json/1"
#define QUENCH_JSON_ABSENT 0
#define QUENCH_JSON_NULL 1
#define QUENCH_JSON_BOOLEAN 2
#define QUENCH_JSON_INTEGER 3 /* written without fraction and exponent, fits int64 */
#define QUENCH_JSON_NUMBER 4
#define QUENCH_JSON_STRING 5
#define QUENCH_JSON_ARRAY 6
#define QUENCH_JSON_OBJECT 7

/* A parsed document. Places in it are named by JSON pointers (RFC 6901): "" is the root. */
typedef struct quench_json_document quench_json_document;

typedef struct quench_json {
  uint32_t struct_size;
  /* Parses `text`; depth, size and duplicate keys are checked. The caller releases the document.
   * [thread-safe] */
  quench_status (*parse)(const quench_host* host, const char* text, uint64_t bytes,
                         quench_json_document** document, quench_error* error) QUENCH_NOEXCEPT;
  void (*release)(quench_json_document* document) QUENCH_NOEXCEPT;
  /* QUENCH_JSON_*; ABSENT where the pointer leads nowhere. [thread-safe, like all below] */
  int32_t (*type)(const quench_json_document* document, const char* pointer) QUENCH_NOEXCEPT;
  /* The value; NOT_FOUND when absent, INVALID_ARGUMENT when of another type (an integer is a
   * number). */
  quench_status (*boolean)(const quench_json_document* document, const char* pointer,
                           int32_t* value, quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*integer)(const quench_json_document* document, const char* pointer,
                           int64_t* value, quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*number)(const quench_json_document* document, const char* pointer, double* value,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* `text` is NUL-terminated UTF-8, valid until the document is released. */
  quench_status (*string)(const quench_json_document* document, const char* pointer,
                          const char** text, uint64_t* bytes, quench_error* error) QUENCH_NOEXCEPT;
  /* Elements of an array or members of an object; 0 for all else. */
  uint64_t (*size)(const quench_json_document* document, const char* pointer) QUENCH_NOEXCEPT;
  /* Key of member `index` of an object, or NULL; valid until the document is released. */
  const char* (*key)(const quench_json_document* document, const char* pointer,
                     uint64_t index) QUENCH_NOEXCEPT;
} quench_json;

#ifdef __cplusplus
}
#endif
#endif
