/* Parameter schemas as data. A plugin item publishes one quench_parameter per hyper-parameter.
 * From it the host derives parsing, defaults, range errors with file and line, `quench plugins
 * show` and docs/plugins.md. An instance receives its parameters as one JSON object that contains
 * every parameter of the schema within its range, so a plugin only checks parameters against each
 * other.
 */
#ifndef QUENCH_ABI_PARAMETER_H
#define QUENCH_ABI_PARAMETER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_PARAMETER_INTEGER 1
#define QUENCH_PARAMETER_NUMBER 2
#define QUENCH_PARAMETER_BOOLEAN 3
#define QUENCH_PARAMETER_STRING 4
#define QUENCH_PARAMETER_CHOICE 5 /* one string from `choices` */
#define QUENCH_PARAMETER_INTEGER_LIST 6
#define QUENCH_PARAMETER_NUMBER_LIST 7
#define QUENCH_PARAMETER_STRING_LIST 8
#define QUENCH_PARAMETER_CORPUS 9 /* name of a corpus, opened and tokenized: kind/metric.h */
#define QUENCH_PARAMETER_PATH 10  /* a file or folder, relative to the manifest's folder */

typedef struct quench_parameter { /*: entry */
  uint32_t struct_size;
  int32_t type;             /* QUENCH_PARAMETER_* */
  const char* name;         /* snake_case key in the manifest */
  const char* default_json; /* JSON text of the default; NULL if the parameter is required */
  double minimum;           /* inclusive, for numbers and for each element of a number list */
  double maximum;           /* inclusive; -INFINITY / INFINITY if there is no bound */
  const char* choices;      /* "a|b|c" for QUENCH_PARAMETER_CHOICE, else NULL */
  const char* meaning; /* one sentence with the unit, and the symbol or option name in the paper */
} quench_parameter;

#ifdef __cplusplus
}
#endif
#endif
