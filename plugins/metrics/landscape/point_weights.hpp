// Sets a model to points of a plane, in the memory where its weights are.
#pragma once

#include <memory>
#include <vector>

#include "metrics/landscape/plane.hpp"
#include "metrics/vectors/space.hpp"

namespace quench::metrics {

template <typename T>
class PointWeights {
 public:
  // Keeps the model's current weights. Of a plane for a model on a device, takes base and
  // directions there. The arguments must outlive the object.
  PointWeights(const quench_subject& subject, const Plane<T>& plane);

  // The weights base + x·u + y·v, summed in float64 and rounded once per element.
  void set(double x, double y);
  // The weights that the model had.
  void restore();

 private:
  void put(const Vector<T>& weights);

  const quench_subject& subject_;
  const Plane<T>& plane_;
  std::shared_ptr<Space<T>> space_;
  Vector<T> before_;
  Vector<T> here_;
  std::vector<Vector<T>> spanning_;  // on a device: base, u, v
};

}  // namespace quench::metrics
