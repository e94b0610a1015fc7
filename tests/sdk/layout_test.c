/* The layout as C sees it. */
#include "tests/sdk/layout.h"

/* sizeof as C sees it, for comparison with C++. */
size_t c_size_of_tensor(void);
size_t c_size_of_model_table(void);

size_t c_size_of_tensor(void) {
  return sizeof(quench_tensor);
}
size_t c_size_of_model_table(void) {
  return sizeof(quench_model_table);
}
