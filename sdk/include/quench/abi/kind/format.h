/* Kind "format": how the checkpoints of another tool are read and written.
 *
 *   reading:  probe(place) -> open(place) -> contents -> reads of its tensors, any number -> close
 *   writing:  fits(scheme, shape) -> begin -> store(linear) for each linear -> finish -> end
 *
 * A format is handed the host's own sources and never opens a file by itself: a place, that is a
 * folder with bounded and checked reads of its files, and the tensors that the host read from the
 * folder's safetensors files. Whatever a format offers is checked by the host as a file would be:
 * names, shapes, counts and overflow.
 *
 * Threads: [instance-serial], but for reads of an open checkpoint's tensors, which are
 * [thread-safe]. `probe`, `list` and `fits` have no instance and are [thread-safe].
 */
#ifndef QUENCH_ABI_KIND_FORMAT_H
#define QUENCH_ABI_KIND_FORMAT_H

#include "quench/abi/host.h"
#include "quench/abi/source.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_FORMAT "format"

typedef struct quench_checkpoint quench_checkpoint;       /* opened for reading */
typedef struct quench_format_writer quench_format_writer; /* one folder in the making */

/* ---- What a format reads from ---------------------------------------------------------------- */

/* A folder of files, or one file of it. Host-owned; valid for the call, and, when it was passed to
 * `open`, until the checkpoint is closed. Strings of it are valid as long as it is. */
typedef struct quench_place {
  uint32_t struct_size;
  void* context;
  const char* path; /* the folder, for messages */
  /* The name of the file that the user named, or NULL when it was the folder. */
  const char* file /*: null */;
  /* Text of the folder's config.json, or "" where there is none. Not parsed. */
  const char* config_json;
  uint64_t config_bytes;

  /* Names of the regular files of the folder (not of folders in it), in the order of their bytes.
   * `name` returns NULL when out of range. [thread-safe] */
  uint64_t (*count)(const struct quench_place* place) QUENCH_NOEXCEPT;
  /*: life object */
  const char* (*name)(const struct quench_place* place, uint64_t index) QUENCH_NOEXCEPT;

  /* Size of the file called `name`, in bytes. NOT_FOUND when the place has no such file,
   * INVALID_ARGUMENT for a name that leads out of the folder. [thread-safe] */
  quench_status (*size)(const struct quench_place* place, const char* name, uint64_t* bytes,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Copies `bytes` bytes from `offset` on. DATA_LOSS, with file and offset, when the range is not
   * there or the file has changed since it was first asked for; else as `size`. The files asked for
   * during `open` are those that the checkpoint consists of: the host compares them with their
   * hashes and remembers what it measured of them. [thread-safe] */
  quench_status (*read)(const struct quench_place* place, const char* name, uint64_t offset,
                        uint64_t bytes, void* destination /*: is out bytes[bytes] */,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* The tensors of the place, as its files hold them: of model.safetensors, of an index and its
   * shards, of the named file, or of another container that a format reads without a config.
   * Asked for in `open`; borrowed, valid as long as the place. NOT_FOUND when there are none; what
   * reading them fails with. [thread-safe] */
  quench_status (*tensors)(const struct quench_place* place,
                           const quench_source** source /*: life kept */,
                           quench_error* error) QUENCH_NOEXCEPT;
} quench_place;

/* What an open checkpoint offers. All pointers are the checkpoint's own and valid until it is
 * closed. */
typedef struct quench_checkpoint_contents {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  /* Float tensors, under the names that the model's family knows; ties by `shared_with`. `find` is
   * not called. */
  const quench_source* tensors /*: life kept */;
  /* The model's config, a JSON object, without what describes the format; NULL: that of the place,
   * without its member "quantization_config". */
  const char* config_json /*: null */;
  uint64_t config_bytes;
  /* How the tensors were quantized, a JSON object for records: "bits", "group_size" (-1: whole
   * rows), "symmetric", "ordered" (groups follow the order of quantization), "writer" where they
   * are known of all, and, under "tensors", the same by name of the tensor where they differ. NULL
   * for float weights. */
  const char* quantization_json /*: null */;
  uint64_t quantization_bytes;
  /* A tokenizer that the file itself carries, with the name of the file that it would be
   * ("tokenizer.json"); NULL where there is none. The host uses it where the folder has no file of
   * a tokenizer and none is named, as if it lay there. */
  const char* tokenizer_name /*: null */;
  const void* tokenizer /*: null */;
  uint64_t tokenizer_bytes;
} quench_checkpoint_contents;

/* One of several checkpoints that a place holds. */
typedef struct quench_checkpoint_entry {
  uint32_t struct_size;
  const char* name; /* of a file of the place; opened as the place with this `file` */
  int64_t step;     /* training step, or -1 where unknown */
  int64_t tokens;   /* tokens seen, or -1 */
} quench_checkpoint_entry;

/* ---- What a format writes -------------------------------------------------------------------- */

/* What the codes of a setting are like, as far as parameters tell. */
typedef struct quench_code_scheme {
  uint32_t struct_size;
  int32_t symmetric;  /* 1: every zero point is 2^(bits-1) */
  int32_t ordered;    /* 1: groups follow the order of quantization, not of columns */
  int64_t bits;       /* 2..8, or 0 where unknown */
  int64_t group_size; /* columns, -1: whole rows */
} quench_code_scheme;

/* A quantized linear: its weight is scales[:,g_idx] * (codes - zeros[:,g_idx]). Borrowed for the
 * call; all arrays are C-contiguous in host memory, every group of `g_idx` is below `groups`. */
typedef struct quench_coded_linear {
  uint32_t struct_size;
  const char* name; /* of the module, "model.layers.0.self_attn.q_proj" */
  int64_t out;
  int64_t in;
  int64_t groups;
  int64_t bits;         /* codes are below 2^bits */
  const uint8_t* codes /*: [out*in] */; /* [out,in] */
  const double* scales /*: [out*groups] */; /* [out,groups] */
  const double* zeros /*: [out*groups] */;  /* [out,groups] */
  const int32_t* g_idx /*: [in] */;
} quench_coded_linear;

/* Of a codebook's scales. */
#define QUENCH_SCALES_FLOAT 0
#define QUENCH_SCALES_POWERS_OF_TWO 1 /* 2^-127 to 2^127, which a byte holds (E8M0) */

/* A linear whose weight is looked up: element i, in C order, is scales[i / block] *
 * table[t*entries + indices[i]], where t is the row, or 0 if there is one table. Borrowed for the
 * call; all arrays are C-contiguous in host memory, every index is below `entries`. */
typedef struct quench_codebook_linear {
  uint32_t struct_size;
  int32_t scale_type; /* QUENCH_SCALES_* */
  const char* name;   /* of the module */
  int64_t out;
  int64_t in;
  int64_t tables;  /* 1, or out */
  int64_t entries; /* of each table, 2..256 */
  int64_t blocks;
  int64_t block; /* consecutive elements that share a scale; the last block may have fewer */
  const uint8_t* indices /*: [out*in] */;    /* [out,in] */
  const double* table /*: [tables*entries] */; /* [tables,entries] */
  const double* scales /*: [blocks] */;
} quench_codebook_linear;

/* What became of a linear's grid in the file. */
typedef struct quench_stored_linear {
  uint32_t struct_size;
  uint64_t scales;         /* how many it has */
  uint64_t rounded_scales; /* that the file holds with fewer digits */
  double largest_change;   /* of a scale, relative */
} quench_stored_linear;

/* The linears that stay in float, by names of their modules. Borrowed for the call. */
typedef struct quench_float_linears {
  uint32_t struct_size;
  uint32_t linear_count;      /* of blocks */
  const char* const* linears /*: [linear_count] */;
  /* The output head, under each of its names; none where it is quantized. */
  uint32_t head_count;
  const char* const* heads /*: [head_count] */;
} quench_float_linears;

/* Where a writer puts what it made. Host-owned, valid for the call; the host copies. */
typedef struct quench_format_sink {
  uint32_t struct_size;
  void* context;
  /* A tensor of the folder, C-contiguous. In `store` alone. INVALID_ARGUMENT for a name that is
   * there already. */
  quench_status (*tensor)(void* context, const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape /*: [dimensions] */,
                          const void* data /*: is bytes[shape] */,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* In `finish` alone. Takes back a tensor of an earlier `store`; NOT_FOUND when there is none. */
  quench_status (*drop)(void* context, const char* name, quench_error* error) QUENCH_NOEXCEPT;
  /* In `finish` alone, once: a JSON object whose members go into config.json
   * ({"quantization_config": {...}}). */
  quench_status (*config)(void* context, const char* json, uint64_t bytes,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* In `finish` alone: a further file of the folder, by a plain name. */
  quench_status (*file)(void* context, const char* name, const void* data, uint64_t bytes,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* In `finish` alone, once: how all linears are stored, as quantization_json of
   * quench_checkpoint_contents has it when the folder is read again. */
  quench_status (*quantization)(void* context, const char* json, uint64_t bytes,
                                quench_error* error) QUENCH_NOEXCEPT;
} quench_format_sink;

/* ---- The table ------------------------------------------------------------------------------- */

/* What a format does, told by which functions of its table are not NULL. */
#define QUENCH_FORMAT_READS (1u << 0)
#define QUENCH_FORMAT_WRITES (1u << 1)
#define QUENCH_FORMAT_LISTS (1u << 2)

/* A format that only reads leaves `fits`, `begin`, `store`, `finish` and `end` NULL, all of them;
 * one that only writes leaves `probe`, `open`, `close`, `contents` and `list` NULL; `list` may
 * always be. `parameters_json` holds every parameter of the schema. */
typedef struct quench_format_table {
  uint32_t struct_size;

  /* How sure it is that the place is of this format: 0 (no; `error` may say why, where the format
   * is its own and not read) to 100. Looks at names, config and first bytes, and is quick. */
  /*: optional group read */
  int32_t (*probe)(const quench_place* place, quench_error* error) QUENCH_NOEXCEPT;
  /* Opens the checkpoint at the place: reads headers, not values. The caller closes it. UNSUPPORTED
   * for what the format has and this reader does not, DATA_LOSS for what contradicts itself. */
  /*: optional group read */
  quench_status (*open)(const quench_place* place /*: life object */, const char* parameters_json,
                        uint64_t bytes,
                        quench_checkpoint** checkpoint, quench_error* error) QUENCH_NOEXCEPT;
  /*: optional group read; closes */
  void (*close)(quench_checkpoint* checkpoint) QUENCH_NOEXCEPT;
  /* Fills `contents`; the same for the checkpoint's life. */
  /*: optional group read; life object */
  quench_status (*contents)(const quench_checkpoint* checkpoint,
                            quench_checkpoint_contents* contents,
                            quench_error* error) QUENCH_NOEXCEPT;
  /* Calls `visit` for every checkpoint of a place that holds several, by step; never for one that
   * `open` takes as a whole. Stops at, and returns, what `visit` returns but OK. */
  /*: optional */
  quench_status (*list)(const quench_place* place,
                        quench_status (*visit)(void* context, const quench_checkpoint_entry* entry)
                            QUENCH_NOEXCEPT,
                        void* context, quench_error* error) QUENCH_NOEXCEPT;

  /* Whether the format holds weights with this scheme and, unless `out` is 0, of this shape: OK, or
   * UNSUPPORTED with the reason by itself: "3 bits; awq holds 4". Asked before any work. */
  /*: optional group write */
  quench_status (*fits)(const char* parameters_json, uint64_t bytes,
                        const quench_code_scheme* scheme, int64_t out, int64_t in,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Starts a folder; the caller ends the writer, also after a failure of a later call. */
  /*: optional group write */
  quench_status (*begin)(const char* parameters_json, uint64_t bytes,
                         quench_format_writer** writer, quench_error* error) QUENCH_NOEXCEPT;
  /* Puts the tensors of one linear into the sink and replaces `weight`, [out,in] float32, the
   * weight that the codes stand for, by the one that reading those tensors gives, bit for bit: what
   * is measured is what is written. UNSUPPORTED for what the format cannot hold, NUMERICAL for a
   * scale that its element type cannot, both naming the linear. */
  /*: optional group write */
  quench_status (*store)(quench_format_writer* writer, const quench_coded_linear* linear,
                         const quench_format_sink* sink,
                         float* weight /*: inout; [linear.out*linear.in] */,
                         quench_stored_linear* stored, quench_error* error) QUENCH_NOEXCEPT;
  /* Once, after the last linear. UNSUPPORTED, naming two, for linears that differ where the format
   * has one scheme. */
  /*: optional group write */
  quench_status (*finish)(quench_format_writer* writer, const quench_float_linears* left,
                          const quench_format_sink* sink, quench_error* error) QUENCH_NOEXCEPT;
  /*: optional group write; closes */
  void (*end)(quench_format_writer* writer) QUENCH_NOEXCEPT;
  /* `store` for a linear with a codebook; a format without it holds integer grids alone. UNSUPPORTED,
   * naming the linear, for a codebook that the format cannot hold. */
  /*: optional */
  quench_status (*store_codebook)(quench_format_writer* writer,
                                  const quench_codebook_linear* linear,
                                  const quench_format_sink* sink,
                                  float* weight /*: inout; [linear.out*linear.in] */,
                                  quench_stored_linear* stored,
                                  quench_error* error) QUENCH_NOEXCEPT;
} quench_format_table;

#ifdef __cplusplus
}
#endif
#endif
