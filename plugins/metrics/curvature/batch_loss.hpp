// The mean loss of sequences as a function of a model's parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metrics/curvature/graph_bytes.hpp"
#include "metrics/curvature/rows.hpp"
#include "metrics/vectors/space.hpp"
#include "quench/abi/extension/gradients.h"
#include "quench/abi/kind/metric.h"

namespace quench::curvature {

// The parameters that the flat vector consists of; valid as long as the model.
std::span<const quench_parameter_info> parameters_of(const quench_subject& subject);
uint64_t elements_of(const quench_parameter_info& parameter);
uint64_t elements_of_all(const quench_subject& subject);  // elements of the flat vector

// The type of vectors over the parameters: float64 for a float64 model, otherwise float32.
bool has_wide_vectors(const quench_subject& subject);

// How products with the curvature are computed: the QUENCH_CURVATURE_* kinds, or central
// differences of the gradient.
enum class Kind { kHessian, kGaussNewton, kForward, kDifferences };
// "hessian", "gauss_newton", "forward", "differences".
Kind kind_of(const std::string& name);

// Σ nll / scored positions over all rows, in eval mode. Rows of equal length go through the model
// together, rows_together at a time. T is double or float, as has_wide_vectors says. A product
// keeps the graphs of all batches if they have at most `kept_tokens` tokens and fit in kGraphBytes,
// and otherwise recomputes them for each product. Throws UNSUPPORTED if the family has no
// derivatives.
template <typename T>
class BatchLoss {
 public:
  BatchLoss(const quench_subject& subject, std::vector<Row> rows, Kind kind = Kind::kHessian,
            uint64_t kept_tokens = kKeptTokens);
  ~BatchLoss();
  BatchLoss(const BatchLoss&) = delete;
  BatchLoss& operator=(const BatchLoss&) = delete;

  uint64_t size() const { return size_; }      // parameters
  uint64_t tokens() const { return tokens_; }  // ids in all rows
  uint64_t scored() const { return scored_; }
  uint64_t rows() const { return rows_; }
  // Where all vectors of this loss lie: with the weights.
  metrics::Space<T>& space() const { return *space_; }

  // At the current weights, in nats per token.
  double value();
  // The same value, and its gradient.
  double gradient(std::span<T> to);
  // H v. The weights must not change after the first product unless `release` is called.
  void product(std::span<const T> v, std::span<T> to);
  void release();

 private:
  struct Batch;

  template <typename Function>
  double over_batches(Function&& call);
  void difference(std::span<const T> v, std::span<T> to);

  const quench_subject& subject_;
  std::shared_ptr<metrics::Space<T>> space_;
  const quench_model_gradient* gradient_ = nullptr;
  const quench_model_curvature* curvature_ = nullptr;
  Kind kind_;
  uint64_t size_ = 0;
  uint64_t tokens_ = 0;
  uint64_t scored_ = 0;
  uint64_t rows_ = 0;
  bool keeps_ = false;
  std::vector<std::unique_ptr<Batch>> batches_;
};

// Reads all parameters into one flat vector of a space, or sets them from it. Setting rounds to the
// model's dtype.
template <typename T>
void read_parameters(const quench_subject& subject, const metrics::Space<T>& space,
                     std::span<T> to);
template <typename T>
void write_parameters(const quench_subject& subject, const metrics::Space<T>& space,
                      std::span<const T> from);
// Reads one parameter's own elements into host memory.
template <typename T>
void read_parameter(const quench_subject& subject, const quench_parameter_info& parameter,
                    std::span<T> to);

}  // namespace quench::curvature
