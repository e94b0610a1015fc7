// The coordinates in which a curvature is asked for: some of the parameters, each as it is or in
// units of its tensor.
#pragma once

#include <span>
#include <vector>

#include "metrics/curvature/batch_loss.hpp"
#include "metrics/curvature/krylov.hpp"

namespace quench::hessian {

// With w = D·u for a diagonal D, the curvature in u is D·H·D. D is 0 for parameters that are left
// out, and else 1, or the root mean square of the parameter's tensor: then a curvature does not
// change where a tensor is multiplied by a number and the loss stays the same, as before a
// normalization (Kwon et al. 2021, arXiv 2102.11600, with one unit for a tensor), and
// ½σ²·tr(D·H·D) is what noise costs whose deviation is σ times that root mean square.
template <typename T>
class Coordinates {
 public:
  // `matrices`: hidden matrices alone, which are what quantizers round. Throws UNSUPPORTED where
  // there is none.
  Coordinates(const quench_subject& subject, metrics::Space<T>& space, bool matrices,
              bool relative);

  // Those that are not left out, in the order of the flat vector, and where they lie.
  std::span<const quench_parameter_info> parameters() const { return parameters_; }
  std::span<const curvature::Range> ranges() const { return ranges_; }
  // The curvature in these coordinates, of one that takes vectors of `size` elements.
  curvature::Operator<T> around(curvature::Operator<T> product, uint64_t size) const;

 private:
  void scale(std::span<T> v) const;

  metrics::Space<T>& space_;
  bool plain_;
  std::vector<quench_parameter_info> parameters_;
  std::vector<double> units_;  // of each of them
  std::vector<curvature::Range> ranges_;
  std::vector<curvature::Range> left_out_;
};

}  // namespace quench::hessian
