// Vectors over a model's parameters, and the memory that they lie in: the host's, or that of the
// model's device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::metrics {

// Elements of a vector that `turn` of a device's space turns at once.
inline constexpr uint64_t kTurned = uint64_t{1} << 20;

template <typename T>
class Vector;

// One memory, and arithmetic there: in float64, each element of a result rounded once. A std::span
// of a space says where elements are; if they are on a device, no one but the space may read them.
// All spans of a call have one length.
template <typename T>
class Space {
 public:
  virtual ~Space() = default;
  virtual quench_device device() const = 0;
  // Zeros. Throws RESOURCE_EXHAUSTED.
  virtual T* allocate(uint64_t count) = 0;
  virtual void release(T* memory) = 0;

  virtual void clear(std::span<T> to) = 0;
  virtual void copy(std::span<const T> from, std::span<T> to) = 0;
  // `make` writes the elements in host memory, from where they come here.
  virtual void fill(std::span<T> to, const std::function<void(std::span<T>)>& make) = 0;
  virtual double dot(std::span<const T> a, std::span<const T> b) = 0;
  // y = scale · y + factor · x.
  virtual void combine(std::span<T> y, double scale, double factor, std::span<const T> x) = 0;
  // w minus its projections on orthonormal vectors.
  virtual void project_out(std::span<const Vector<T>> vectors, std::span<T> w) = 0;
  // to = Σ coefficient_j v_j over the first vectors, as many as there are coefficients.
  virtual void combination(std::span<const Vector<T>> vectors, std::span<const double> coefficients,
                           std::span<T> to) = 0;
  // The new k-th vector is Σ_j rows[k][j] v_j, for the first vectors, as many as there are rows.
  virtual void turn(std::span<Vector<T>> vectors, std::span<const std::vector<double>> rows) = 0;
};

template <typename T>
double norm(Space<T>& space, std::span<const T> a);

// A vector of a space, which must outlive it.
template <typename T>
class Vector {
 public:
  // Zeros.
  Vector(Space<T>& space, uint64_t size)
      : space_(&space), values_(space.allocate(size), static_cast<size_t>(size)) {}
  ~Vector() {
    if (space_ != nullptr) {
      space_->release(values_.data());
    }
  }
  Vector(Vector&& other) noexcept
      : space_(std::exchange(other.space_, nullptr)), values_(std::exchange(other.values_, {})) {}
  Vector& operator=(Vector&& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(values_, other.values_);
    return *this;
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  size_t size() const { return values_.size(); }
  T* data() const { return values_.data(); }
  std::span<T> all() const { return values_; }
  std::span<T> part(uint64_t first, uint64_t count) const { return values_.subspan(first, count); }
  operator std::span<T>() const { return values_; }
  operator std::span<const T>() const { return values_; }

 private:
  Space<T>* space_;
  std::span<T> values_;
};

// Host memory. Sums run over fixed ranges, for any number of threads.
template <typename T>
Space<T>& host_space();

// Where vectors for this model belong: the memory of its device, if it has one and the family's
// extension quench.model.vectors/1, else host memory. Valid as long as the subject.
template <typename T>
std::shared_ptr<Space<T>> space_of(const quench_subject& subject);

}  // namespace quench::metrics
