#include "metrics/hessian/trace.hpp"

#include <cmath>

#include "shared/random/random_vector.hpp"

namespace quench::hessian {

namespace {

Trace summary(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return {mean, std::sqrt(squares / (count - 1.0) / count)};
}

}  // namespace

template <typename T>
std::vector<Trace> traces(const curvature::Operator<T>& a, uint64_t size,
                          const std::vector<curvature::Part>& parts, uint64_t samples,
                          const std::string& stream, metrics::Space<T>& space) {
  std::vector<std::vector<double>> values(parts.size() + 1);
  const metrics::Vector<T> v(space, size);
  const metrics::Vector<T> product(space, size);
  for (uint64_t s = 0; s < samples; ++s) {
    space.fill(
        v, [&](std::span<T> to) { random::draw_signs<T>(stream + "/" + std::to_string(s), to); });
    a(v, product);
    double whole = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      double form = 0;
      for (const curvature::Range& range : parts[p].ranges) {
        form +=
            space.dot(v.part(range.first, range.size()), product.part(range.first, range.size()));
      }
      values[p + 1].push_back(form);
      whole += form;
    }
    values[0].push_back(whole);
  }
  std::vector<Trace> out;
  for (const std::vector<double>& each : values) {
    out.push_back(summary(each));
  }
  return out;
}

template std::vector<Trace> traces<double>(const curvature::Operator<double>&, uint64_t,
                                           const std::vector<curvature::Part>&, uint64_t,
                                           const std::string&, metrics::Space<double>&);
template std::vector<Trace> traces<float>(const curvature::Operator<float>&, uint64_t,
                                          const std::vector<curvature::Part>&, uint64_t,
                                          const std::string&, metrics::Space<float>&);

}  // namespace quench::hessian
