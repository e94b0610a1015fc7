/* Kind "tokenizer": text to token ids, as a file says.
 *
 *   probe(name, beginning of the file) -> open(file, parameters) -> vocabulary_size
 *                                      -> encode(batch of documents)*  -> close
 *
 * The host finds the files and reads them; a tokenizer opens none itself. The ids of a document
 * depend on the file, the parameters and the document alone: not on its neighbours in a batch and
 * not on the number of threads that quench.tasks/1 has.
 *
 * [instance-serial, except where said]
 */
#ifndef QUENCH_ABI_KIND_TOKENIZER_H
#define QUENCH_ABI_KIND_TOKENIZER_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_TOKENIZER "tokenizer"

typedef struct quench_encoder quench_encoder; /* an open tokenizer; the plugin's own object */

/* A file of which only the beginning was read. All pointers are the host's, valid until the call
 * returns. */
typedef struct quench_file_head {
  uint32_t struct_size;
  const char* name;  /* of the file without its folder: "tokenizer.json" */
  const char* bytes /*: is bytes[count] */; /* the first ones */
  uint64_t count;    /* of them: 4096, or all of a smaller file */
  uint64_t size;     /* of the whole file */
} quench_file_head;

/* Scores of `probe`: 0 is no, larger is likelier, and between files and plugins the largest wins.
 * One from QUENCH_TOKENIZER_BY_NAME on says that the name, too, is the one that tokenizers of this
 * format have. Only such a file is taken out of a folder whose files the user did not name. */
#define QUENCH_TOKENIZER_BY_NAME 100

/* Documents one after the other: document d is text[offsets[d]] .. text[offsets[d+1]-1]. */
typedef struct quench_text_batch {
  uint32_t struct_size;
  uint32_t flags;          /* QUENCH_ENCODE_* */
  uint64_t count;          /* documents */
  /* UTF-8, unless the corpus has other bytes, which `encode` may refuse */
  const char* text /*: is bytes[offsets[count]] */;
  const uint64_t* offsets /*: [count+1] */; /* ascending from 0 */
} quench_text_batch;

/* Puts the special tokens around each document that the file has for that. Special tokens that
 * stand in a text are the file's business with and without it. */
#define QUENCH_ENCODE_ADD_SPECIAL (1u << 0)

/* Where ids go. */
typedef struct quench_id_sink {
  uint32_t struct_size;
  void* context;
  /* Takes the number of ids of each document of the batch, counts[count], and returns memory for
   * all of them, one document after the other, or NULL where there is none. Called once per batch,
   * by the thread that called `encode`. The memory is the host's, to be filled before `encode` returns. */
  /*: returns deferred i32[sum counts] */
  int32_t* (*allocate)(void* context, const uint64_t* counts /*: [count] */,
                       uint64_t count) QUENCH_NOEXCEPT;
} quench_id_sink;

typedef struct quench_tokenizer_table {
  uint32_t struct_size;
  /* How likely it is that `open` takes the file; 0 may say why not in `error`. Depends on the
   * arguments alone. [thread-safe] */
  int32_t (*probe)(const quench_file_head* file, quench_error* error) QUENCH_NOEXCEPT;
  /* Reads the whole file, of up to 1 GiB. `file` and `name`, which stands for it in messages, are
   * borrowed until the call returns. INVALID_ARGUMENT names the place of what is wrong in the
   * file, UNSUPPORTED what this plugin cannot do: nothing is approximated. The caller closes the
   * encoder. [thread-safe] */
  quench_status (*open)(const char* file, uint64_t file_bytes, const char* name,
                        const char* parameters_json, uint64_t parameters_bytes,
                        quench_encoder** encoder, quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*close)(quench_encoder* encoder) QUENCH_NOEXCEPT;
  /* One more than the largest id. Constant. [thread-safe] */
  uint64_t (*vocabulary_size)(const quench_encoder* encoder) QUENCH_NOEXCEPT;
  /* The ids of every document, each from 0 to vocabulary_size - 1. Of documents that fail, the
   * first one's error is reported, whichever thread met it: "document N: ...", from 0, where the
   * batch has several, and the offset of the byte; nothing has been asked of the sink then. Splits
   * the batch over the threads of quench.tasks/1. CANCELLED as everywhere. */
  quench_status (*encode)(quench_encoder* encoder, const quench_text_batch* batch,
                          const quench_id_sink* sink, quench_error* error) QUENCH_NOEXCEPT;
} quench_tokenizer_table;

#ifdef __cplusplus
}
#endif
#endif
