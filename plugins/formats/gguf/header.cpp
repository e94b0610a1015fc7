#include "formats/gguf/header.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "quench/kit/error.hpp"

namespace quench::gguf {

namespace {

constexpr uint64_t kMaxTensors = 65536;
constexpr uint64_t kMaxNameBytes = 255;
constexpr uint32_t kMaxDimensions = 4;
constexpr uint64_t kSmallestTensor = 8 + 4 + 4 + 8;
constexpr uint64_t kUsualAlignment = 32;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;

[[noreturn]] void unsupported(const Bytes& bytes, uint64_t offset, const std::string& message) {
  throw kit::Error(QUENCH_UNSUPPORTED,
                   bytes.name() + ": offset " + std::to_string(offset) + ": " + message);
}

void read_version(const Bytes& bytes, Cursor& cursor) {
  const std::string magic = cursor.text(kMagic.size(), "magic");
  if (magic != kMagic) {
    fail_at(bytes, 0, "got " + shown(magic) + ", wanted " + std::string(kMagic));
  }
  const uint64_t at = cursor.offset();
  const auto version = cursor.number<uint32_t>("version");
  if (version != 0 && (version & 0xFFFFU) == 0) {
    unsupported(bytes, at, "a big-endian file, wanted a little-endian one");
  }
  if (version != 2 && version != 3) {
    unsupported(bytes, at, "version " + std::to_string(version) + ", wanted 2 or 3");
  }
}

// Smallest multiple of `alignment` that is not below `offset`; both are below 2^63.
uint64_t align(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

uint64_t alignment_of(const Metadata& metadata) {
  constexpr const char* kKey = "general.alignment";
  const uint64_t alignment = metadata.count(kKey).value_or(kUsualAlignment);
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    metadata.refuse(QUENCH_DATA_LOSS, kKey,
                    std::to_string(alignment) + ", wanted a power of two of at most " +
                        std::to_string(kMaxAlignment));
  }
  return alignment;
}

std::string read_name(Cursor& cursor) {
  const auto length = cursor.number<uint64_t>("length of a tensor's name");
  if (length == 0 || length > kMaxNameBytes) {
    cursor.fail("a tensor's name of " + std::to_string(length) + " bytes, wanted 1.." +
                std::to_string(kMaxNameBytes));
  }
  std::string name = cursor.text(length, "name of a tensor");
  if (name.find('\0') != std::string::npos) {
    cursor.fail("a tensor's name has a NUL: " + shown(name));
  }
  return name;
}

// Fills shape and elements; elements and their float32 bytes fit 63 bits.
void read_shape(Cursor& cursor, StoredTensor& tensor) {
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 8;
  const auto dimensions = cursor.number<uint32_t>("dimensions");
  if (dimensions < 1 || dimensions > kMaxDimensions) {
    cursor.fail(shown(tensor.name) + ": " + std::to_string(dimensions) + " dimensions, wanted 1.." +
                std::to_string(kMaxDimensions));
  }
  tensor.elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    const auto size = cursor.number<uint64_t>("size of a dimension");
    if (size == 0 || size > kMost / tensor.elements) {
      cursor.fail(shown(tensor.name) + ": dimension " + std::to_string(i) + " of " +
                  std::to_string(size) +
                  (size == 0 ? ", wanted at least 1" : ": too many elements"));
    }
    tensor.elements *= size;
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
  }
}

// Fills type and bytes.
void read_type(const Bytes& bytes, Cursor& cursor, StoredTensor& tensor) {
  const uint64_t at = cursor.offset();
  const auto number = cursor.number<uint32_t>("type of a tensor");
  tensor.type = find_tensor_type(number);
  if (tensor.type == nullptr) {
    unsupported(bytes, at,
                shown(tensor.name) + ": type " + name_of_tensor_type(number) + " (" +
                    std::to_string(number) + "), wanted one of " + names_of_tensor_types());
  }
  const auto row = static_cast<uint64_t>(tensor.shape.back());
  if (row % tensor.type->block_elements != 0) {
    fail_at(bytes, at,
            shown(tensor.name) + ": rows of " + std::to_string(row) +
                " elements, wanted a multiple of " + std::to_string(tensor.type->block_elements) +
                " for " + tensor.type->name);
  }
  // At most 4 bytes an element, and those fit 63 bits.
  tensor.bytes = tensor.elements / tensor.type->block_elements * tensor.type->block_bytes;
}

// Leaves `offset` as the file has it: from the beginning of the data on.
StoredTensor read_tensor(const Bytes& bytes, Cursor& cursor, uint64_t alignment) {
  StoredTensor tensor{};
  tensor.name = read_name(cursor);
  read_shape(cursor, tensor);
  read_type(bytes, cursor, tensor);
  tensor.offset = cursor.number<uint64_t>("offset of a tensor");
  if (tensor.offset % alignment != 0) {
    cursor.fail(shown(tensor.name) + ": data at " + std::to_string(tensor.offset) +
                ", wanted a multiple of " + std::to_string(alignment));
  }
  return tensor;
}

// Makes an offset one in the file, which has `size` bytes, of them data from `data` on.
void place_in_file(const Bytes& bytes, uint64_t data, StoredTensor& tensor) {
  const uint64_t room = bytes.size() > data ? bytes.size() - data : 0;
  if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
    fail_at(bytes, data,
            shown(tensor.name) + ": " + std::to_string(tensor.bytes) + " bytes at " +
                std::to_string(tensor.offset) + " of the data, which has " + std::to_string(room));
  }
  tensor.offset += data;
}

void refuse_overlaps(const Bytes& bytes, const std::vector<StoredTensor>& tensors) {
  std::vector<const StoredTensor*> by_offset;
  for (const StoredTensor& tensor : tensors) {
    by_offset.push_back(&tensor);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const StoredTensor* a, const StoredTensor* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const StoredTensor& before = *by_offset[i - 1];
    if (before.offset + before.bytes > by_offset[i]->offset) {
      fail_at(bytes, by_offset[i]->offset,
              shown(by_offset[i]->name) + " and " + shown(before.name) + " share bytes");
    }
  }
}

uint64_t read_tensor_count(const Bytes& bytes, Cursor& cursor) {
  const uint64_t at = cursor.offset();
  const auto count = cursor.number<uint64_t>("number of tensors");
  const uint64_t most = std::min(kMaxTensors, cursor.remaining() / kSmallestTensor);
  if (count > most) {
    fail_at(bytes, at,
            std::to_string(count) + " tensors, wanted at most " + std::to_string(most) +
                (most == kMaxTensors ? "" : ", for which the file has bytes"));
  }
  return count;
}

}  // namespace

Header read_header(const Bytes& bytes) {
  Cursor cursor(bytes);
  read_version(bytes, cursor);
  const uint64_t tensors = read_tensor_count(bytes, cursor);
  const auto pairs = cursor.number<uint64_t>("number of pairs of metadata");
  Header header;
  header.metadata = Metadata::read(bytes, cursor, pairs);
  const uint64_t alignment = alignment_of(header.metadata);
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < tensors; ++i) {
    const uint64_t at = cursor.offset();
    header.tensors.push_back(read_tensor(bytes, cursor, alignment));
    if (!names.insert(header.tensors.back().name).second) {
      fail_at(bytes, at, "tensor " + shown(header.tensors.back().name) + " is there twice");
    }
  }
  const uint64_t data = align(cursor.offset(), alignment);
  for (StoredTensor& tensor : header.tensors) {
    place_in_file(bytes, data, tensor);
  }
  refuse_overlaps(bytes, header.tensors);
  return header;
}

}  // namespace quench::gguf
