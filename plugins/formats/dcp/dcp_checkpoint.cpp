#include "formats/dcp/dcp_checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/shared/failure.hpp"
#include "formats/torch_archive/pickle.hpp"

namespace quench::formats {

namespace {

// Where one part's archive lies, once the file has been looked at.
PlaceFile file_of(const kit::Place& place, const DcpPart& part, const std::string& whose) {
  if (!place.has(part.file)) {
    fail(QUENCH_NOT_FOUND, "{}: lies in '{}', which is not in the folder", whose,
         printable(part.file));
  }
  const uint64_t size = place.size(part.file);
  if (part.offset > size || part.bytes > size - part.offset) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: {} bytes, wanted {} from byte {} on: the file is truncated, or of another save",
         place.where(part.file) + ": " + whose, size, part.bytes, part.offset);
  }
  return {place, part.file, part.offset, part.bytes};
}

// Elements [from, to) of a part, to their places in what begins at `first` of the tensor. Windows
// of 4 MiB are read, since a part of columns has as many runs as rows.
void copy_part(const BoxOrder& order, const TorchArchive& archive, uint64_t size, uint64_t from,
               uint64_t to, uint64_t first, char* destination) {
  constexpr uint64_t kWindow = uint64_t{4} << 20;
  if (order.run() >= to - from && order.place_of(to - 1) - order.place_of(from) == to - 1 - from) {
    archive.read_elements(0, from, to - from, destination + (order.place_of(from) - first) * size);
    return;
  }
  std::vector<char> window;
  for (uint64_t at = from; at < to;) {
    const uint64_t count = std::min(to - at, std::max<uint64_t>(kWindow / size, 1));
    window.resize(count * size);
    archive.read_elements(0, at, count, window.data());
    for (uint64_t done = 0; done < count;) {
      const uint64_t element = at + done;
      const uint64_t run = std::min(order.run() - element % order.run(), count - done);
      std::memcpy(destination + (order.place_of(element) - first) * size,
                  window.data() + done * size, run * size);
      done += run;
    }
    at += count;
  }
}

}  // namespace

DcpCheckpoint::DcpCheckpoint(const kit::Place& place) {
  const std::string pickle = place.text(kDcpMetadata, kPickleMaxBytes);
  for (const DcpTensor& tensor : read_metadata(pickle, place.where(kDcpMetadata))) {
    open(place, tensor);
  }
}

void DcpCheckpoint::open(const kit::Place& place, const DcpTensor& tensor) {
  std::vector<Part> parts;
  for (const DcpPart& part : tensor.parts) {
    const std::string whose =
        fmt::format("tensor '{}': its part {}", printable(tensor.name), box_text(part.box));
    const PlaceFile file = file_of(place, part, whose);
    auto archive = std::make_unique<TorchArchive>(file, tensor.name);
    const TensorInfo& stored = archive->tensors().front();
    if (stored.shape != part.box.size || !same_dtype(stored.dtype, tensor.dtype)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: {} is {} {}, wanted {} {} as {} says", file.path(), whose,
           dtype_name(stored.dtype), shape_text(stored.shape), dtype_name(tensor.dtype),
           shape_text(part.box.size), kDcpMetadata);
    }
    parts.push_back({BoxOrder(tensor.shape, part.box), std::move(archive)});
  }
  parts_.push_back(std::move(parts));
  add({tensor.name, tensor.dtype, tensor.shape, tensors().size()});
}

void DcpCheckpoint::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                  void* destination) const {
  const uint64_t size = dtype_size(tensors()[index].dtype);
  for (const Part& part : parts_[index]) {
    const uint64_t from = part.order.before(first);
    const uint64_t to = part.order.before(first + elements);
    if (from < to) {
      copy_part(part.order, *part.archive, size, from, to, first, static_cast<char*>(destination));
    }
  }
}

}  // namespace quench::formats
