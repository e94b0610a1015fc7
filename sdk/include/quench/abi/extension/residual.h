/* Model extension for transforms of the residual stream: where it is written and where it is read,
 * so that an orthogonal matrix can be put between the two.
 *
 * What is listed is complete: nothing else in the model reads or writes the stream. Every writer
 * adds rows of its weight's outputs to it as they are (or is the token embedding), and every reader
 * is a linear on the output of a norm of the stream. A family where that does not hold, because a
 * norm with weights stands between a branch and the stream, say, answers UNSUPPORTED with the
 * reason.
 */
#ifndef QUENCH_ABI_EXTENSION_RESIDUAL_H
#define QUENCH_ABI_EXTENSION_RESIDUAL_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_RESIDUAL "quench.model.residual/1"

/* x / rms(x): any orthogonal matrix passes through. */
#define QUENCH_NORM_ROOT_MEAN_SQUARE 1
/* x minus its mean first: only a matrix that maps (1,...,1) to itself passes through. */
#define QUENCH_NORM_CENTERED 2

typedef struct quench_residual_norm {
  uint32_t struct_size;
  int32_t kind;      /* QUENCH_NORM_* */
  const char* scale; /* parameter [width] that multiplies what is normalized, or NULL */
  const char* shift; /* parameter [width] that is added then, or NULL */
  uint32_t reader_count;
  const char* const* readers; /* [reader_count]: weights [out,width] that multiply its output */
} quench_residual_norm;

typedef struct quench_residual_writer {
  uint32_t struct_size;
  int32_t axis;       /* of the weight, along the stream: 0 of [width,in], 1 of an embedding */
  const char* weight; /* parameter, two-dimensional */
  const char* bias;   /* parameter [width], or NULL */
} quench_residual_writer;

/* A tied output head is a reader and a writer: its name stands in both lists. */
typedef struct quench_residual_info {
  uint32_t struct_size;
  uint32_t norm_count;
  const quench_residual_norm* norms; /* [norm_count] */
  uint32_t writer_count;
  const quench_residual_writer* writers; /* [writer_count] */
} quench_residual_info;

typedef struct quench_model_residual {
  uint32_t struct_size;
  /* `info` lives as long as the model. UNSUPPORTED with the reason where no list can be given. */
  quench_status (*describe)(const quench_model* model, const quench_residual_info** info,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_model_residual;

#ifdef __cplusplus
}
#endif
#endif
