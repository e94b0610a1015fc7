#include "train/training_flops.hpp"

#include <functional>
#include <numeric>

namespace quench {

uint64_t elements_of(const quench_parameter_info& parameter) {
  return std::accumulate(parameter.shape, parameter.shape + parameter.dimensions, uint64_t{1},
                         std::multiplies<>());
}

double training_flops_per_token(const ModelHandle& model, uint64_t length) {
  const quench_model_info info = model.info();
  double linear = static_cast<double>(info.width) * static_cast<double>(info.vocabulary);
  for (const quench_parameter_info& parameter : model.parameters()) {
    if (parameter.role == QUENCH_ROLE_MATRIX) {
      linear += static_cast<double>(elements_of(parameter));
    }
  }
  // QKᵀ and AV: 2·2·T/2·width forward, twice that backward.
  const double attention =
      6.0 * static_cast<double>(length) * static_cast<double>(info.width) * info.blocks;
  return 6 * linear + attention;
}

}  // namespace quench
