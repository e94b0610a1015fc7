/* Quantizer extension for parameters with per-module settings by name pattern, so that the host can
 * refuse a misspelled pattern before any work begins.
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
  /* The parameter that holds the rules: a list of strings whose first word is a pattern; `*`
   * matches any run of characters and `?` one character. */
  const char* parameter;
  /* Returns 1 if the pattern of entry `rule` of that list matches the linear called `module`
   * (quench_linear_info.name), regardless of earlier rules; else 0. [instance-serial] */
  int32_t (*fits)(const quench_quantizer* quantizer, uint64_t rule,
                  const char* module) QUENCH_NOEXCEPT;
} quench_quantizer_modules;

#ifdef __cplusplus
}
#endif
#endif
