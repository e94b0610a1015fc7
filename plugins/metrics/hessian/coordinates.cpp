#include "metrics/hessian/coordinates.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "quench/kit/error.hpp"

namespace quench::hessian {

namespace {

void add(std::vector<curvature::Range>& to, const curvature::Range& range) {
  if (!to.empty() && to.back().end == range.first) {
    to.back().end = range.end;
  } else {
    to.push_back(range);
  }
}

}  // namespace

template <typename T>
Coordinates<T>::Coordinates(const quench_subject& subject, metrics::Space<T>& space, bool matrices,
                            bool relative)
    : space_(space), plain_(!matrices && !relative) {
  for (const quench_parameter_info& parameter : curvature::parameters_of(subject)) {
    const curvature::Range range{parameter.offset,
                                 parameter.offset + curvature::elements_of(parameter)};
    if (matrices && parameter.role != QUENCH_ROLE_MATRIX) {
      add(left_out_, range);
      continue;
    }
    add(ranges_, range);
    parameters_.push_back(parameter);
    units_.push_back(1);
  }
  if (parameters_.empty()) {
    kit::fail(QUENCH_UNSUPPORTED, "tensors: the model has no hidden matrix");
  }
  if (relative) {
    const metrics::Vector<T> weights(space, curvature::elements_of_all(subject));
    curvature::read_parameters<T>(subject, space, weights);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const uint64_t elements = curvature::elements_of(parameters_[i]);
      const auto own = weights.part(parameters_[i].offset, elements);
      units_[i] = metrics::norm<T>(space, own) / std::sqrt(static_cast<double>(elements));
    }
  }
}

template <typename T>
void Coordinates<T>::scale(std::span<T> v) const {
  for (const curvature::Range& range : left_out_) {
    space_.clear(v.subspan(range.first, range.size()));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (units_[i] != 1) {
      const auto own = v.subspan(parameters_[i].offset, curvature::elements_of(parameters_[i]));
      space_.combine(own, units_[i], 0.0, own);
    }
  }
}

template <typename T>
curvature::Operator<T> Coordinates<T>::around(curvature::Operator<T> product, uint64_t size) const {
  if (plain_) {
    return product;
  }
  const auto scaled = std::make_shared<metrics::Vector<T>>(space_, size);
  return [this, product = std::move(product), scaled](std::span<const T> v, std::span<T> to) {
    space_.copy(v, *scaled);
    scale(*scaled);
    product(*scaled, to);
    scale(to);
  };
}

template class Coordinates<double>;
template class Coordinates<float>;

}  // namespace quench::hessian
