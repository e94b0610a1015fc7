#include "tests/regression/overlay_source.hpp"

#include <cstring>
#include <utility>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

OverlaySource::OverlaySource(std::shared_ptr<const TensorSource> base,
                             std::map<std::string, std::vector<float>> replaced)
    : TensorSource(base->description()),
      base_(std::move(base)),
      replaced_(std::move(replaced)),
      by_index_(base_->count(), nullptr) {
  for (const auto& [name, values] : replaced_) {
    const uint64_t index = base_->index_of(name);
    const std::vector<int64_t>& shape = base_->info(index).shape;
    if (values.size() != *element_count(shape)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: tensor '{}' replaced by {} values, its shape is {}",
           description(), printable(name), values.size(), shape_text(shape));
    }
    by_index_[index] = &values;
  }
  // In each tied set, the first tensor that still reads from the base represents the set.
  std::map<uint64_t, uint64_t> first_of;
  for (uint64_t i = 0; i < base_->count(); ++i) {
    TensorInfo tensor = base_->info(i);
    if (by_index_[i] != nullptr) {
      tensor.dtype = kFloat32;
      tensor.shared_with = i;
    } else {
      tensor.shared_with = first_of.emplace(tensor.shared_with, i).first->second;
    }
    add(std::move(tensor));
  }
}

void OverlaySource::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                  void* destination) const {
  if (by_index_[index] == nullptr) {
    base_->read(index, first, elements, destination);
  } else {
    std::memcpy(destination, by_index_[index]->data() + first, elements * sizeof(float));
  }
}

}  // namespace quench
