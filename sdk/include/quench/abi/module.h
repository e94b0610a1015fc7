/* The entry of a plugin: one shared object, one exported symbol, any number of items.
 *
 *   host: dlopen -> quench_module_v1() -> check versions -> init -> item(0..n) -> create/destroy of
 *         instances, any number of times -> shutdown before the process ends. Never unloaded.
 *
 * Every struct except the views begins with `struct_size`, the number of bytes its owner knows. A
 * reader checks that a field lies within it, never that the size is equal, and steps through an
 * array of structs by the owner's size. A function may be NULL where its header says so:
 * those after "Optional" in the table of a kind. Those that a comment calls a group are there
 * together or not at all.
 *
 * Static constructors do nothing. `init` takes well under a second, starts no thread, and opens no
 * device and no connection. The host loads a module that it does not know yet in a child process
 * with a time limit first.
 */
#ifndef QUENCH_ABI_MODULE_H
#define QUENCH_ABI_MODULE_H

#include "quench/abi/host.h"
#include "quench/abi/parameter.h"
#include "quench/abi/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One plugin of one kind. All of it is constant for the life of the process. */
typedef struct quench_item { /*: entry */
  uint32_t struct_size;
  uint32_t flags;        /* 0; a reader refuses unknown bits */
  const char* kind;      /* QUENCH_KIND_* of kind/<kind>.h: "model", "quantizer", "transform",
                            "averaging", "metric", "corpus", "tokenizer", "optimizer", "format" */
  const char* id;        /* [a-z][a-z0-9_-]{0,63}, unique within its kind */
  const char* version;   /* "1.2.3" */
  const char* summary;   /* one sentence */
  const char* reference; /* paper with year and equation, or NULL */
  const char* example;   /* a value for `- id: {...}` in a manifest, which a test runs, or NULL */
  uint32_t parameter_count;
  const quench_parameter* parameters; /* [parameter_count] */
  const void* table;                  /* quench_<kind>_table of kind/<kind>.h */
  /* JSON text of named parameter sets, {"study": {"damp": 0.01}}, or NULL. The choice parameter
   * `preset` selects one by name. Its values replace the defaults of parameters that are not set,
   * so instances receive, and records keep, the values themselves. */
  const char* presets_json;
  /* Of a model family: the values of a config's "model_type" that its `probe` can score above 0,
   * "llama|mistral". For others, the family is not loaded. NULL: any. */
  const char* model_types;
} quench_item;

typedef struct quench_module { /*: entry */
  uint32_t struct_size;
  uint32_t abi_major;      /* written for: QUENCH_ABI_MAJOR and QUENCH_ABI_MINOR of its headers */
  uint32_t abi_minor;
  uint32_t min_host_minor; /* needs at least; no more than abi_minor */
  const char* id;      /* for logs; reverse DNS is welcome */
  const char* version; /* version of the module */
  const char* build;   /* compiler and SDK version, for reports only */
  /* Called once, before anything else. `host` stays valid for the life of the process. [one thread;
   * nothing else of this module runs] */
  quench_status (*init)(const quench_host* host, quench_error* error) QUENCH_NOEXCEPT;
  /* Called once, after the last instance has been destroyed. May be NULL. [one thread] */
  void (*shutdown)(void) QUENCH_NOEXCEPT;
  uint32_t item_count;
  const quench_item* const* items; /* [item_count] */
} quench_module;

#define QUENCH_ENTRY_SYMBOL "quench_module_v1"

/* The only exported symbol. Returns constant data and has no other effect. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const quench_module* quench_module_v1(void) QUENCH_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
