#include "core/pass/routed_rows.hpp"

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/device_tensor.hpp"

namespace quench {

RoutedRows::RoutedRows(ModelHandle& model, const quench_tensor& destinations) {
  if (destinations.dimensions != 2 || destinations.shape[1] != 1 ||
      !same_dtype(destinations.dtype, kInt32)) {
    fail(QUENCH_INTERNAL, "{}: destinations of rows: wanted int32 of shape [entries, 1]",
         model.label());
  }
  entries_ = destinations.shape[0];
  const HostTensor experts = on_host(model, destinations);
  for (int64_t i = 0; i < entries_; ++i) {
    places_[experts.as<int32_t>()[static_cast<size_t>(i)]].push_back(i);
  }
}

std::vector<int64_t> RoutedRows::of(int32_t expert, int64_t rows) const {
  if (rows <= 0 || entries_ % rows != 0) {
    fail(QUENCH_INTERNAL, "{} destinations for {} rows: wanted the same number for each", entries_,
         rows);
  }
  const auto found = places_.find(expert);
  if (found == places_.end()) {
    return {};
  }
  const int64_t each = entries_ / rows;
  std::vector<int64_t> own = found->second;
  for (int64_t& place : own) {
    place /= each;
  }
  return own;
}

const RoutedRows& StageRoutes::at(int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= carried_.size()) {
    fail(QUENCH_INTERNAL, "{}: destinations in carried tensor {} of {}", model_.label(), index,
         carried_.size());
  }
  const auto found = read_.find(index);
  return found != read_.end()
             ? found->second
             : read_.emplace(index, RoutedRows(model_, carried_[static_cast<size_t>(index)]))
                   .first->second;
}

bool assume_white_inputs(QuantizerHandle::Group& group, int64_t in_features) {
  if (!group.has_gram()) {
    return false;
  }
  HostTensor identity(kFloat64, {in_features, in_features});
  const auto size = static_cast<size_t>(in_features);
  for (size_t i = 0; i < size; ++i) {
    identity.as<double>()[i * size + i] = 1.0;
  }
  group.gram_set(identity.view(), 1.0);
  return true;
}

}  // namespace quench
