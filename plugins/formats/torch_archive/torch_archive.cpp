#include "formats/torch_archive/torch_archive.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"
#include "formats/torch_archive/pickle.hpp"
#include "formats/torch_archive/torch_state.hpp"

namespace quench::formats {

namespace {

// Everything but a zip archive is refused here; the two older formats of torch.save by name.
void check_format(const PlaceFile& file) {
  std::string head(std::min<uint64_t>(file.size(), 512), '\0');
  file.read(0, head.data(), head.size());
  if (head.starts_with("PK\x03\x04")) {
    return;
  }
  const char* what = nullptr;
  if (head.size() >= 262 && head.compare(257, 5, "ustar") == 0) {
    what = "the tar format of torch before 0.1.10";
  } else if (!head.empty() && head[0] == '\x80') {
    what = "a bare pickle, or the format of torch before 1.6";
  }
  const std::string path = file.path();
  if (what != nullptr) {
    fail(QUENCH_UNSUPPORTED,
         "{}: {}: not read; convert it in Python where you trust the file: "
         "torch.save(torch.load('{}', weights_only=True), 'converted.bin')",
         path, what, file.name());
  }
  fail(QUENCH_INVALID_ARGUMENT, "{}: not a torch checkpoint: no zip archive ({} bytes)", path,
       file.size());
}

// "archive" of the only member called "archive/data.pkl".
std::string find_folder(const ZipArchive& archive, const std::string& path) {
  constexpr std::string_view kPickle = "/data.pkl";
  std::string folder;
  for (const ZipMember& member : archive.members()) {
    const std::string_view name = member.name;
    if (!name.ends_with(kPickle) || name.find('/') != name.size() - kPickle.size()) {
      continue;
    }
    if (!folder.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: two pickles, '{}/data.pkl' and '{}'", path,
           printable(folder), printable(name));
    }
    folder = name.substr(0, name.size() - kPickle.size());
  }
  if (folder.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: not a torch checkpoint: the zip archive has no data.pkl",
         path);
  }
  return folder;
}

void check_byte_order(const ZipArchive& archive, const std::string& folder,
                      const std::string& path) {
  const ZipMember* member = archive.find(folder + "/byteorder");
  if (member == nullptr) {
    return;  // torch before 2.1, on the machines it ran on
  }
  const std::string order = archive.read(*member, 64);
  if (order != "little") {
    fail(QUENCH_UNSUPPORTED, "{}: byte order '{}', wanted 'little'", path, printable(order));
  }
}

void check_metadata(const PickleTensor& tensor, const std::string& whose) {
  if (!tensor.unread.empty()) {
    fail(QUENCH_UNSUPPORTED, "{}: its metadata have '{}', read are neg and conj", whose,
         tensor.unread);
  }
  if (tensor.negated && !is_floating(tensor.dtype)) {
    fail(QUENCH_UNSUPPORTED, "{}: its metadata say neg of {} elements, read is neg of floats",
         whose, dtype_name(tensor.dtype));
  }
}

}  // namespace

TorchArchive::TorchArchive(const kit::Place& place, const std::string& name) : file_(place, name) {
  read_archive(nullptr);
}

TorchArchive::TorchArchive(PlaceFile file, const std::string& tensor) : file_(std::move(file)) {
  read_archive(&tensor);
}

void TorchArchive::read_archive(const std::string* alone) {
  check_format(file_);
  const ZipArchive archive(file_);
  const std::string folder = find_folder(archive, file_.path());
  check_byte_order(archive, folder, file_.path());
  add_tensors(archive, folder, alone);
}

void TorchArchive::add_tensors(const ZipArchive& archive, const std::string& folder,
                               const std::string* alone) {
  const std::string pickle = archive.read(*archive.find(folder + "/data.pkl"), kPickleMaxBytes);
  const std::string where = file_.path() + ": data.pkl";
  const PickleGraph graph = read_pickle(pickle, where);
  std::set<std::string> used{folder + "/data.pkl",
                             folder + "/byteorder",
                             folder + "/version",
                             folder + "/.format_version",
                             folder + "/.storage_alignment",
                             folder + "/.data/serialization_id"};
  for (const PickleValue& value : graph.values) {
    if (value.kind == PickleKind::kStorage) {
      used.insert(folder + "/data/" + std::string(value.text));
    }
  }
  for (const ZipMember& member : archive.members()) {
    if (!used.contains(member.name)) {
      ignored_.push_back(member.name);
    }
  }
  // Same storage, same view: tied.
  std::map<
      std::tuple<uint64_t, std::string, uint64_t, std::vector<int64_t>, std::vector<int64_t>, bool>,
      uint64_t>
      first_of;
  for (const NamedPickleTensor& named :
       alone != nullptr ? lone_tensor(graph, where, *alone) : find_state(graph, where)) {
    const PickleTensor& tensor = graph.tensors[named.tensor];
    const ZipMember* member = archive.find(folder + "/data/" + std::string(tensor.storage));
    const std::string whose = file_.path() + ": tensor '" + printable(named.name) + "'";
    if (member == nullptr) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: its storage '{}' is not in the archive", whose,
           printable(tensor.storage));
    }
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(tensor.storage_elements, dtype_size(tensor.dtype), &bytes) ||
        bytes != member->size) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: its storage '{}' has {} bytes, which is not {} {} elements", whose,
           printable(tensor.storage), member->size, tensor.storage_elements,
           dtype_name(tensor.dtype));
    }
    check_metadata(tensor, whose);
    const uint64_t index = tensors().size();
    // Tensors without elements share nothing.
    const bool empty = *element_count(tensor.shape) == 0;
    const auto tie = std::tuple(member->offset, dtype_name(tensor.dtype), tensor.offset,
                                tensor.shape, tensor.stride, tensor.negated);
    const uint64_t shared = empty ? index : first_of.emplace(tie, index).first->second;
    View view{member->offset, tensor.offset, {}, true, tensor.negated};
    uint64_t expected = 1;
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      const auto stride = static_cast<uint64_t>(tensor.stride[i]);
      view.contiguous &= tensor.shape[i] == 1 || stride == expected || empty;
      expected *= static_cast<uint64_t>(tensor.shape[i]);
    }
    view.stride.assign(tensor.stride.begin(), tensor.stride.end());
    views_.push_back(std::move(view));
    add({named.name, tensor.dtype, tensor.shape, shared});
  }
}

void TorchArchive::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                 void* destination) const {
  const View& view = views_[index];
  const TensorInfo& tensor = tensors()[index];
  const uint64_t size = dtype_size(tensor.dtype);
  if (view.contiguous) {
    file_.read(view.start + (view.offset + first) * size, destination, elements * size);
  } else {
    gather(view, tensor, first, elements, static_cast<char*>(destination));
  }
  for (uint64_t n = 0; n < elements && view.negated; ++n) {
    static_cast<unsigned char*>(destination)[(n + 1) * size - 1] ^= 0x80;  // little-endian
  }
}

// Element by element in C order, out of a window on the storage. Where storage order is C order
// (a slice of columns), the window moves forward, 4 MiB at a time, and reads each byte once. Else
// (a transposed weight) it is the whole view, or single elements of views that are over 256 MiB.
void TorchArchive::gather(const View& view, const TensorInfo& tensor, uint64_t first,
                          uint64_t elements, char* destination) const {
  constexpr uint64_t kForwardBytes = uint64_t{4} << 20;
  constexpr uint64_t kWholeBytes = uint64_t{256} << 20;
  const uint64_t size = dtype_size(tensor.dtype);
  std::vector<uint64_t> position(tensor.shape.size(), 0);
  uint64_t span = 0;  // from the first to the last element of the view
  uint64_t at = view.offset;
  bool forward = true;
  for (size_t i = position.size(); i-- > 0;) {
    const auto extent = static_cast<uint64_t>(tensor.shape[i]);
    position[i] = first % extent;
    first /= extent;
    at += position[i] * view.stride[i];
    forward &= extent == 1 || view.stride[i] >= span;
    span += (extent - 1) * view.stride[i];
  }
  const uint64_t end = view.offset + span + 1;
  const bool whole = !forward && (span + 1) * size <= kWholeBytes;
  const uint64_t most = whole ? span + 1 : forward ? kForwardBytes / size : 1;
  std::vector<char> window;
  uint64_t window_first = 0;
  uint64_t window_elements = 0;
  for (uint64_t n = 0; n < elements; ++n) {
    if (at < window_first || at - window_first >= window_elements) {
      window_first = whole ? view.offset : at;
      window_elements = std::min(end - window_first, most);
      window.resize(window_elements * size);
      file_.read(view.start + window_first * size, window.data(), window.size());
    }
    std::memcpy(destination + n * size, window.data() + (at - window_first) * size, size);
    for (size_t i = position.size(); i-- > 0;) {
      at += view.stride[i];
      if (++position[i] < static_cast<uint64_t>(tensor.shape[i])) {
        break;
      }
      at -= position[i] * view.stride[i];
      position[i] = 0;
    }
  }
}

}  // namespace quench::formats
