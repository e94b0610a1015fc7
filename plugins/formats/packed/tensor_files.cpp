#include "formats/packed/tensor_files.hpp"

namespace quench::formats {

TensorFiles::TensorFiles(const kit::Place& place)
    : description_(place.file().empty() ? place.path() : place.where(place.file())),
      source_(place.tensors()) {
  for (uint64_t i = 0; i < source_.count(); ++i) {
    const quench_tensor_info info = source_.info(i);
    by_name_.emplace(info.name, i);
    tensors_.push_back(
        {info.name, info.dtype, {info.shape, info.shape + info.dimensions}, info.shared_with});
  }
}

std::optional<uint64_t> TensorFiles::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
}

}  // namespace quench::formats
