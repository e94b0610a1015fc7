/* golden_quantizer_c: absolute-maximum rounding of whole rows, in plain C11 against the ABI
 * alone.
 *
 * | parameter | type | default | range  | meaning         |
 * |-----------|------|---------|--------|-----------------|
 * | bits      | int  | 4       | 2 .. 8 | bits per code   |
 *
 *   quantizers:
 *     - golden_quantizer_c: {bits: 4}
 *
 * Per row: scale = max|w| / (2^(bits-1) - 1), code = round(w / scale) + 2^(bits-1).
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quench/abi/kind/quantizer.h"
#include "quench/abi/module.h"

struct quench_quantizer {
  int64_t bits;
};
struct quench_quantizer_state {
  const quench_group_info* info;
};

static const quench_host* host;

static quench_status fail(quench_error* error, quench_status code, const char* format, ...) {
  if (error != NULL) {
    va_list arguments;
    va_start(arguments, format);
    error->struct_size = sizeof *error;
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return code;
}

static quench_status create(const char* parameters_json, uint64_t bytes,
                            quench_quantizer** quantizer, quench_error* error) {
  const quench_json* json = host->service(host, QUENCH_SERVICE_JSON);
  quench_json_document* document = NULL;
  quench_status status = json->parse(host, "parameters", parameters_json, bytes, &document, error);
  if (status != QUENCH_OK) {
    return status;
  }
  int64_t bits = 0;
  const quench_json_value* value = json->member(json->root(document), "bits", strlen("bits"));
  status = value == NULL ? QUENCH_NOT_FOUND : json->integer(value, &bits);
  json->release(document);
  if (status != QUENCH_OK) {
    return fail(error, status, "bits: wanted an integer");
  }
  *quantizer = malloc(sizeof **quantizer);
  if (*quantizer == NULL) {
    return fail(error, QUENCH_RESOURCE_EXHAUSTED, "out of memory");
  }
  (*quantizer)->bits = bits;
  return QUENCH_OK;
}

static void destroy(quench_quantizer* quantizer) {
  free(quantizer);
}

static uint32_t needs(const quench_quantizer* quantizer) {
  (void)quantizer;
  return 0;
}

static quench_status begin(quench_quantizer* quantizer, const quench_group_args* args,
                           quench_quantizer_state** state, quench_error* error) {
  (void)quantizer;
  *state = malloc(sizeof **state);
  if (*state == NULL) {
    return fail(error, QUENCH_RESOURCE_EXHAUSTED, "out of memory");
  }
  (*state)->info = args->info;
  return QUENCH_OK;
}

/* needs() asks for no rows. */
static quench_status observe(quench_quantizer* quantizer, quench_quantizer_state* state,
                             const quench_observe_args* args, quench_error* error) {
  (void)quantizer;
  (void)state;
  (void)args;
  (void)error;
  return QUENCH_OK;
}

static void* data_of(const quench_tensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}

/* A tensor of the sink's, for this call. */
static quench_status make(const quench_quantize_sink* sink, const char* name, uint8_t code,
                          uint8_t bits, int64_t rows, int64_t columns, void** data,
                          quench_error* error) {
  const quench_dtype dtype = {code, bits, 1};
  const int64_t shape[2] = {rows, columns};
  quench_tensor view;
  const quench_status status = sink->tensor(sink->context, name, dtype, 2, shape, &view, error);
  if (status == QUENCH_OK) {
    *data = data_of(&view);
  }
  return status;
}

/* Element i of a float32 or float64 tensor. */
static double get(const void* data, int is_double, int64_t i) {
  return is_double ? ((const double*)data)[i] : (double)((const float*)data)[i];
}

static void put(void* data, int is_double, int64_t i, double value) {
  if (is_double) {
    ((double*)data)[i] = value;
  } else {
    ((float*)data)[i] = (float)value;
  }
}

static quench_status quantize(quench_quantizer* quantizer, quench_quantizer_state* state,
                              const quench_quantize_args* args, quench_error* error) {
  if (args->linear >= state->info->linear_count) {
    return fail(error, QUENCH_INVALID_ARGUMENT, "linear %u: no such index in this group",
                args->linear);
  }
  const quench_linear_info* info = &state->info->linears[args->linear];
  const int64_t in = info->in_features;
  const int64_t out = info->out_features;
  const int is_double = args->weight->dtype.bits == 64;
  const void* weight = data_of(args->weight);
  void* dequantized = data_of(args->dequantized);
  void* codes = NULL;
  void* scales = NULL;
  void* zeros = NULL;
  const quench_quantize_sink* sink = args->sink;
  quench_status status = make(sink, "codes", QUENCH_DTYPE_UINT, 8, out, in, &codes, error);
  if (status == QUENCH_OK) {
    status = make(sink, "scales", QUENCH_DTYPE_FLOAT, 32, out, 1, &scales, error);
  }
  if (status == QUENCH_OK) {
    status = make(sink, "zeros", QUENCH_DTYPE_FLOAT, 32, out, 1, &zeros, error);
  }
  if (status != QUENCH_OK) {
    return status;
  }
  const double zero = ldexp(1.0, (int)quantizer->bits - 1);
  for (int64_t o = 0; o < out; ++o) {
    double largest = 0;
    for (int64_t i = 0; i < in; ++i) {
      const double value = get(weight, is_double, o * in + i);
      if (!isfinite(value)) {
        return fail(error, QUENCH_NUMERICAL, "%s: a weight is %g", info->weight, value);
      }
      largest = fmax(largest, fabs(value));
    }
    const float scale = (float)(largest / (zero - 1));
    ((float*)scales)[o] = scale;
    ((float*)zeros)[o] = (float)zero;
    for (int64_t i = 0; i < in; ++i) {
      const double steps = scale == 0 ? 0 : rint(get(weight, is_double, o * in + i) / scale);
      const double step = fmin(fmax(steps, -zero), zero - 1);
      ((uint8_t*)codes)[o * in + i] = (uint8_t)(step + zero);
      put(dequantized, is_double, o * in + i, step * scale);
    }
  }
  /* One float32 scale a row; the zero is the same everywhere and stored nowhere. */
  return sink->number(sink->context, "bits_per_weight", (double)quantizer->bits + 32.0 / (double)in,
                      error);
}

static void end(quench_quantizer* quantizer, quench_quantizer_state* state) {
  (void)quantizer;
  free(state);
}

/* The optional functions, which follow, are NULL. */
static const quench_quantizer_table table = {.struct_size = sizeof(quench_quantizer_table),
                                             .create = create,
                                             .destroy = destroy,
                                             .needs = needs,
                                             .begin = begin,
                                             .observe = observe,
                                             .quantize = quantize,
                                             .end = end};

static const quench_parameter parameters[] = {
    {sizeof(quench_parameter), QUENCH_PARAMETER_INTEGER, "bits", "4", 2, 8, NULL, "bits per code"}};

static const quench_item item = {sizeof(quench_item),
                                 0,
                                 QUENCH_KIND_QUANTIZER,
                                 "golden_quantizer_c",
                                 "0.1.0",
                                 "Absolute-maximum rounding to nearest of whole rows, in C.",
                                 NULL,
                                 "{bits: 4}",
                                 1,
                                 parameters,
                                 &table,
                                 NULL,
                                 NULL};
static const quench_item* const items[] = {&item};

static quench_status init(const quench_host* given, quench_error* error) {
  (void)error;
  host = given;
  return QUENCH_OK;
}

static const quench_module module = {sizeof(quench_module),
                                     QUENCH_ABI_MAJOR,
                                     QUENCH_ABI_MINOR,
                                     0,
                                     "golden_quantizer_c",
                                     "0.1.0",
                                     "C11",
                                     init,
                                     NULL,
                                     1,
                                     items};

const quench_module* quench_module_v1(void) {
  return &module;
}
