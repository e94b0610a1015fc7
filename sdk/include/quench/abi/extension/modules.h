/* Quantizer extension for parameters that set single modules by patterns of their names, so that
 * the host can refuse a pattern that is misspelt before any work begins.
 */
#ifndef QUENCH_ABI_EXTENSION_MODULES_H
#define QUENCH_ABI_EXTENSION_MODULES_H

#include "quench/abi/kind/quantizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_QUANTIZER_MODULES "quench.quantizer.modules/1"

typedef struct quench_quantizer_modules {
  uint32_t struct_size;
  /* The parameter that holds the rules: a list of strings whose first word is the pattern, `*` for
   * any run of characters and `?` for one. */
  const char* parameter;
  /* 1 when the pattern of entry `rule` of that list fits the linear called `module`
   * (quench_linear_info.name), whatever the rules before it say; else 0. [instance-serial] */
  int32_t (*fits)(const quench_quantizer* quantizer, uint64_t rule,
                  const char* module) QUENCH_NOEXCEPT;
} quench_quantizer_modules;

#ifdef __cplusplus
}
#endif
#endif
