/* What the host offers to a plugin. A module receives one quench_host in `init` and asks it for
 * service tables by id. A table is valid for the life of the process. A service that the host does
 * not have is NULL. Every host provides: log, cancel, memory, random, tasks, processor, json.
 */
#ifndef QUENCH_ABI_HOST_H
#define QUENCH_ABI_HOST_H

#include "quench/abi/status.h"
#include "quench/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quench_host { /*: entry */
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
  /* Writes one line, prefixed with the module's id. Plugins never write to stdout or stderr
   * themselves. [thread-safe] */
  void (*write)(const quench_host* host, int32_t level, const char* message) QUENCH_NOEXCEPT;
} quench_log;

/* ---- quench.progress/1, quench.cancel/1 ------------------------------------------------------ */
#define QUENCH_SERVICE_PROGRESS "quench.progress/1"
typedef struct quench_progress {
  uint32_t struct_size;
  /* Reports `done` of `total` units of the work called `what`. The host computes rate and ETA.
   * Cheap enough to call once per micro-batch. [thread-safe] */
  void (*report)(const quench_host* host, const char* what, uint64_t done,
                 uint64_t total) QUENCH_NOEXCEPT;
} quench_progress;

#define QUENCH_SERVICE_CANCEL "quench.cancel/1"
typedef struct quench_cancel { /*: local a flag in shared memory */
  uint32_t struct_size;
  /* Non-zero once the user or the cluster has asked to stop. A call that can take longer than half
   * a second polls it, which is a sign of life, and then returns QUENCH_CANCELLED. [thread-safe] */
  int32_t (*requested)(const quench_host* host) QUENCH_NOEXCEPT;
} quench_cancel;

/* ---- quench.memory/1 ------------------------------------------------------------------------- */
#define QUENCH_SERVICE_MEMORY "quench.memory/1"
typedef struct quench_memory { /*: local memory of the process itself */
  uint32_t struct_size;
  /* Allocates host memory, 64-byte aligned and uninitialized; NULL if there is none left. Memory
   * that a plugin shows to the host (weights above all) must come from here. [thread-safe] */
  void* (*allocate)(const quench_host* host, uint64_t bytes) QUENCH_NOEXCEPT;
  /* Frees such memory; NULL is allowed. [thread-safe] */
  void (*release)(const quench_host* host, void* memory) QUENCH_NOEXCEPT;
} quench_memory;

/* ---- quench.random/1 ------------------------------------------------------------------------- */
#define QUENCH_SERVICE_RANDOM "quench.random/1"
typedef struct quench_random { /*: local computed in the process itself, from the seed of the run */
  uint32_t struct_size;
  /* The only source of randomness: Philox4x32-10 (Salmon et al. 2011), keyed by the run's seed, the
   * module's id and `stream` (such as a layer's name). Fills `values` with numbers counter ..
   * counter+count-1 of that stream, uniform over 64 bits, the same on every machine.
   * [thread-safe] */
  void (*uniform)(const quench_host* host, const char* stream, uint64_t counter, uint64_t count,
                  uint64_t* values) QUENCH_NOEXCEPT;
} quench_random;

/* ---- quench.tasks/1 -------------------------------------------------------------------------- */
#define QUENCH_SERVICE_TASKS "quench.tasks/1"
typedef struct quench_tasks { /*: local threads of the process itself: functions cannot cross */
  uint32_t struct_size;
  /* Returns the number of threads that this run may use. */
  uint32_t (*threads)(const quench_host* host) QUENCH_NOEXCEPT;
  /* Calls body(user, begin, end) for disjoint ranges that cover [0, count). Every range except the
   * last has `grain` elements, for any number of threads, so that sums per range are reproducible.
   * Returns when all are done. A body returns QUENCH_OK, or a status that the whole call returns;
   * the remaining ranges are then skipped. Must not be nested or called from inside another
   * library's parallel region. [any plugin call] */
  quench_status (*parallel_for)(const quench_host* host, uint64_t count, uint64_t grain,
                                quench_status (*body)(void* user, uint64_t begin, uint64_t end)
                                    QUENCH_NOEXCEPT,
                                void* user) QUENCH_NOEXCEPT;
} quench_tasks;

/* ---- quench.processor/1 ---------------------------------------------------------------------- */
#define QUENCH_SERVICE_PROCESSOR "quench.processor/1"
#define QUENCH_INSTRUCTIONS_PORTABLE 0 /* available on every processor of the architecture */
#define QUENCH_INSTRUCTIONS_AVX2 1     /* AVX2 and FMA */
#define QUENCH_INSTRUCTIONS_AVX512 2   /* AVX-512 F, BW, DQ and VL */
/* AVX-512 as above, and products of bfloat16 by VDPBF16PS, whose sums are rounded in another way.
 * Only where the user asks for it. Kernels without such products take it for AVX512; who does not
 * know a number may take it for any smaller one. */
#define QUENCH_INSTRUCTIONS_AVX512_BF16 3

typedef struct quench_processor { /*: local said at the start */
  uint32_t struct_size;
  /* Returns the widest instruction set for kernels chosen at run time, QUENCH_INSTRUCTIONS_*: that
   * of the processor, or less if the user sets QUENCH_ISA. It is part of every record's key, so
   * kernels ask here and never query the processor or its vendor. Constant for the life of the
   * process. [thread-safe] */
  int32_t (*instructions)(const quench_host* host) QUENCH_NOEXCEPT;
} quench_processor;

/* ---- quench.json/2 --------------------------------------------------------------------------- */
#define QUENCH_SERVICE_JSON "quench.json/2"
#define QUENCH_JSON_ABSENT 0 /* the type of no value */
#define QUENCH_JSON_NULL 1
#define QUENCH_JSON_BOOLEAN 2
#define QUENCH_JSON_INTEGER 3 /* written without fraction or exponent, fits int64 */
#define QUENCH_JSON_NUMBER 4
#define QUENCH_JSON_STRING 5
#define QUENCH_JSON_ARRAY 6
#define QUENCH_JSON_OBJECT 7

/* A parsed document, a tree of values. Both are read-only and may be read on all threads. */
typedef struct quench_json_document quench_json_document;
/* One value of a document; valid until the document is released. */
typedef struct quench_json_value quench_json_value;

typedef struct quench_json { /*: local parsed in the process itself */
  uint32_t struct_size;
  /* Parses `text`; checks depth, size and duplicate keys. `name` stands for the text in messages,
   * which begin with it. The caller releases the document. [thread-safe] */
  quench_status (*parse)(const quench_host* host, const char* name, const char* text,
                         uint64_t bytes, quench_json_document** document,
                         quench_error* error) QUENCH_NOEXCEPT;
  void (*release)(quench_json_document* document) QUENCH_NOEXCEPT;
  const quench_json_value* (*root)(const quench_json_document* document) QUENCH_NOEXCEPT;
  /* QUENCH_JSON_*, never ABSENT. */
  int32_t (*type)(const quench_json_value* value) QUENCH_NOEXCEPT;
  /* Elements of an array or members of an object; 0 for all else. */
  uint64_t (*size)(const quench_json_value* value) QUENCH_NOEXCEPT;
  /* The member of an object called `key`, or NULL; NULL where `value` is no object. */
  const quench_json_value* (*member)(const quench_json_value* value, const char* key,
                                     uint64_t key_bytes) QUENCH_NOEXCEPT;
  /* Element `index` of an array, or NULL; NULL where `value` is no array. */
  const quench_json_value* (*element)(const quench_json_value* value,
                                      uint64_t index) QUENCH_NOEXCEPT;
  /* Calls take(user, key, value) for every member of an object, each key once, always in the same
   * order. Ends with the first status that is not QUENCH_OK, and returns it. */
  quench_status (*each_member)(const quench_json_value* value,
                               quench_status (*take)(void* user, const char* key,
                                                     uint64_t key_bytes,
                                                     const quench_json_value* member)
                                   QUENCH_NOEXCEPT,
                               void* user) QUENCH_NOEXCEPT;
  /* The value, or INVALID_ARGUMENT for one of another type (an integer is a number). */
  quench_status (*boolean)(const quench_json_value* value, int32_t* out) QUENCH_NOEXCEPT;
  quench_status (*integer)(const quench_json_value* value, int64_t* out) QUENCH_NOEXCEPT;
  quench_status (*number)(const quench_json_value* value, double* out) QUENCH_NOEXCEPT;
  /* `text` is NUL-terminated UTF-8, valid as long as the value. */
  quench_status (*string)(const quench_json_value* value, const char** text,
                          uint64_t* bytes) QUENCH_NOEXCEPT;
} quench_json;

/* ---- quench.journal/1 ------------------------------------------------------------------------ */
#define QUENCH_SERVICE_JOURNAL "quench.journal/1"
/* For evaluations that consist of many equal pieces (the points of a landscape). It keeps finished
 * pieces, so that an interrupted evaluation continues where it stopped.
 *
 * The journal of the current evaluation: of this model, this data and these parameters, in any
 * process. A host may offer the service and keep nothing. */
typedef struct quench_journal {
  uint32_t struct_size;
  /* Returns the value of piece `index`, bit for bit; NOT_FOUND if there is none. [thread-safe] */
  quench_status (*get)(const quench_host* host, uint64_t index, double* value) QUENCH_NOEXCEPT;
  /* Keeps the value of piece `index`. If that fails, the piece is computed again. [thread-safe]
   */
  void (*put)(const quench_host* host, uint64_t index, double value) QUENCH_NOEXCEPT;
} quench_journal;

#ifdef __cplusplus
}
#endif
#endif
