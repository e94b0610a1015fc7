/* Model extension for transforms of the residual stream: lists the weights that write and read it,
 * so that an orthogonal matrix can be inserted between them.
 *
 * The lists are complete: nothing else in the model reads or writes the stream. Every writer
 * adds its weight's output rows to the stream unchanged (or is the token embedding). Every
 * reader is a linear whose input is a norm of the stream. UNSUPPORTED with the reason if that
 * does not hold for a family, for example because a norm with weights lies between a branch and
 * the stream.
 */
#ifndef QUENCH_ABI_EXTENSION_RESIDUAL_H
#define QUENCH_ABI_EXTENSION_RESIDUAL_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_RESIDUAL "quench.model.residual/1"

/* x / rms(x): commutes with any orthogonal matrix. */
#define QUENCH_NORM_ROOT_MEAN_SQUARE 1
/* Subtracts the mean of x first: commutes only with matrices that map (1,...,1) to itself. */
#define QUENCH_NORM_CENTERED 2

typedef struct quench_residual_norm {
  uint32_t struct_size;
  int32_t kind;      /* QUENCH_NORM_* */
  const char* scale; /* parameter [width] that multiplies the normalized value, or NULL */
  const char* shift; /* parameter [width] that is added afterwards, or NULL */
  uint32_t reader_count;
  const char* const* readers; /* [reader_count]: weights [out,width] that multiply its output */
} quench_residual_norm;

typedef struct quench_residual_writer {
  uint32_t struct_size;
  int32_t axis;       /* the weight's axis along the stream: 0 for [width,in], 1 for an embedding */
  const char* weight; /* parameter, two-dimensional */
  const char* bias;   /* parameter [width], or NULL */
} quench_residual_writer;

/* A tied output head is both a reader and a writer: its name is in both lists. */
typedef struct quench_residual_info {
  uint32_t struct_size;
  uint32_t norm_count;
  const quench_residual_norm* norms; /* [norm_count] */
  uint32_t writer_count;
  const quench_residual_writer* writers; /* [writer_count] */
} quench_residual_info;

typedef struct quench_model_residual {
  uint32_t struct_size;
  /* `info` lives as long as the model. UNSUPPORTED with the reason if there is no such list. */
  quench_status (*describe)(const quench_model* model, const quench_residual_info** info,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_model_residual;

#ifdef __cplusplus
}
#endif
#endif
