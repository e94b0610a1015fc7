#include "metrics/landscape/point_weights.hpp"

#include <algorithm>

#include "metrics/landscape/flat_weights.hpp"

namespace quench::metrics {

template <typename T>
PointWeights<T>::PointWeights(const quench_subject& subject, const Plane<T>& plane)
    : subject_(subject),
      plane_(plane),
      space_(space_of<T>(subject)),
      before_(*space_, plane.base.size()),
      here_(*space_, plane.base.size()) {
  get_weights<T>(*subject.table, subject.model, before_, space_->device());
  if (space_->device().type == QUENCH_DEVICE_CPU) {
    return;
  }
  for (const std::vector<T>* direction : {&plane.base, &plane.u, &plane.v}) {
    if (!direction->empty()) {
      const Vector<T>& there = spanning_.emplace_back(*space_, direction->size());
      space_->fill(there, [&](std::span<T> to) {
        std::copy(direction->begin(), direction->end(), to.begin());
      });
    }
  }
}

template <typename T>
void PointWeights<T>::set(double x, double y) {
  if (spanning_.empty()) {
    weights_at<T>(plane_, x, y, here_);
  } else {
    const double coordinates[] = {1, x, y};
    space_->combination(spanning_, std::span(coordinates).first(spanning_.size()), here_);
  }
  put(here_);
}

template <typename T>
void PointWeights<T>::restore() {
  put(before_);
}

template <typename T>
void PointWeights<T>::put(const Vector<T>& weights) {
  set_weights<T>(*subject_.table, subject_.model, weights, space_->device());
}

template class PointWeights<float>;
template class PointWeights<double>;

}  // namespace quench::metrics
