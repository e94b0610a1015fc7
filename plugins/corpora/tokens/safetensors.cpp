#include "corpora/tokens/safetensors.hpp"

#include <map>

#include "quench/kit/json.hpp"

namespace quench::corpora {

namespace {

constexpr uint64_t kHeaderLimit = 100'000'000;  // bytes; the limit of the format
constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kDimensionLimit = 8;

[[noreturn]] void broken(const File& file, const std::string& what) {
  throw kit::Error(QUENCH_DATA_LOSS, file.path() + ": safetensors: " + what);
}

std::string read_header(const File& file) {
  unsigned char length_bytes[kLengthBytes];
  if (file.size() < kLengthBytes) {
    broken(file, "the file has " + std::to_string(file.size()) + " bytes, wanted at least 8");
  }
  file.read_exactly(0, reinterpret_cast<char*>(length_bytes), kLengthBytes);
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = (length << 8) | length_bytes[i];
  }
  if (length > kHeaderLimit || length > file.size() - kLengthBytes) {
    broken(file, "the header claims " + std::to_string(length) + " bytes of a file of " +
                     std::to_string(file.size()));
  }
  std::string header(length, '\0');
  file.read_exactly(kLengthBytes, header.data(), header.size());
  if (header.empty() || header[0] != '{') {
    broken(file, "the header is not a JSON object");
  }
  return header;
}

uint64_t natural(const File& file, const std::optional<kit::JsonValue>& value,
                 const std::string& at) {
  const std::optional<int64_t> number = value ? value->integer() : std::nullopt;
  if (!number || *number < 0) {
    broken(file, at + ": wanted a natural number");
  }
  return static_cast<uint64_t>(*number);
}

StoredTensor read_entry(const File& file, const kit::JsonValue& entry, const std::string& name,
                        uint64_t data_begin) {
  const auto dtype = entry.member("dtype");
  const auto shape = entry.member("shape");
  const auto offsets = entry.member("data_offsets");
  if (!dtype || !dtype->string() || !shape || !shape->is_array() || !offsets ||
      !offsets->is_array() || offsets->size() != 2) {
    broken(file, "tensor `" + name + "`: wanted dtype, shape and two data_offsets");
  }
  const std::string at = "/" + name;
  StoredTensor tensor;
  tensor.name = name;
  tensor.dtype = *dtype->string();
  uint64_t bytes = element_bytes(tensor.dtype);
  if (bytes == 0) {
    broken(file, "tensor `" + name + "`: unknown dtype " + tensor.dtype);
  }
  if (shape->size() > kDimensionLimit) {
    broken(file, "tensor `" + name + "`: more than 8 dimensions");
  }
  for (uint64_t d = 0; d < shape->size(); ++d) {
    tensor.shape.push_back(natural(file, shape->element(d), at + "/shape/" + std::to_string(d)));
    if (__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes)) {
      broken(file, "tensor `" + name + "`: the shape overflows 64 bits");
    }
  }
  const uint64_t begin = natural(file, offsets->element(0), at + "/data_offsets/0");
  const uint64_t end = natural(file, offsets->element(1), at + "/data_offsets/1");
  if (begin > end || end > file.size() - data_begin) {
    broken(file, "tensor `" + name + "`: bytes " + std::to_string(begin) + " to " +
                     std::to_string(end) + " of " + std::to_string(file.size() - data_begin));
  }
  if (end - begin != bytes) {
    broken(file, "tensor `" + name + "`: got " + std::to_string(end - begin) +
                     " bytes, its shape and dtype need " + std::to_string(bytes));
  }
  tensor.begin = data_begin + begin;
  tensor.end = data_begin + end;
  return tensor;
}

}  // namespace

uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, uint64_t> kBytes = {
      {"BOOL", 1}, {"I8", 1},  {"U8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

bool is_integer(const std::string& dtype) {
  return !dtype.empty() && (dtype[0] == 'I' || dtype[0] == 'U');
}

std::vector<StoredTensor> read_safetensors_header(const File& file) {
  const std::string header = read_header(file);
  std::vector<StoredTensor> tensors;
  try {
    const kit::JsonDocument json(header, "the header");
    json.root().each_member([&](std::string_view name, const kit::JsonValue& entry) {
      if (name != "__metadata__") {
        tensors.push_back(read_entry(file, entry, std::string(name), kLengthBytes + header.size()));
      }
    });
  } catch (const kit::Error& problem) {
    if (problem.code() != QUENCH_INVALID_ARGUMENT) {
      throw;
    }
    broken(file, "the header is not JSON: " + std::string(problem.what()));
  }
  return tensors;
}

}  // namespace quench::corpora
