#include "core/checkpoint/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/wrapped_names.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

std::map<std::string, std::string> parse_metadata(const json& value, const std::string& name) {
  if (!value.is_object()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: __metadata__ is {}, wanted an object", name,
         value.type_name());
  }
  std::map<std::string, std::string> out;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: __metadata__ '{}' is {}, wanted a string", name,
           printable(key), text.type_name());
    }
    out.emplace(key, text.get<std::string>());
  }
  return out;
}

std::vector<int64_t> parse_shape(const json& value, const std::string& where) {
  if (!value.is_array()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: shape is {}, wanted an array", where, value.type_name());
  }
  if (value.size() > QUENCH_MAX_DIMENSIONS) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} dimensions, at most {} are read", where, value.size(),
         QUENCH_MAX_DIMENSIONS);
  }
  std::vector<int64_t> shape;
  for (const json& size : value) {
    const uint64_t number = json_unsigned(size, where + ": shape");
    if (number > INT64_MAX) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: dimension {} is over 2^63", where, number);
    }
    shape.push_back(static_cast<int64_t>(number));
  }
  return shape;
}

const json& member(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no {}, wanted dtype, shape and data_offsets", where, key);
  }
  return *found;
}

SafetensorsEntry parse_entry(const std::string& name, const json& value, const std::string& where) {
  if (!value.is_object()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}, wanted an object", where, value.type_name());
  }
  for (const auto& item : value.items()) {
    if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets") {
      fail(QUENCH_INVALID_ARGUMENT, "{}: unknown key '{}', wanted dtype, shape and data_offsets",
           where, printable(item.key()));
    }
  }
  SafetensorsEntry entry;
  entry.name = name;
  const json& dtype = member(value, "dtype", where);
  if (!dtype.is_string()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: dtype is {}, wanted a string", where, dtype.type_name());
  }
  entry.dtype = dtype_from_name(dtype.get_ref<const std::string&>(), where);
  entry.shape = parse_shape(member(value, "shape", where), where);
  const json& offsets = member(value, "data_offsets", where);
  if (!offsets.is_array() || offsets.size() != 2) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: data_offsets is not an array of two numbers", where);
  }
  entry.begin = json_unsigned(offsets[0], where + ": data_offsets");
  entry.end = json_unsigned(offsets[1], where + ": data_offsets");
  return entry;
}

// Checks one entry against its own shape and the data size.
void check_entry(const SafetensorsEntry& entry, uint64_t data_bytes, const std::string& where) {
  const std::optional<uint64_t> elements = element_count(entry.shape);
  uint64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, dtype_size(entry.dtype), &bytes)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: shape {} overflows", where, shape_text(entry.shape));
  }
  if (entry.begin > entry.end) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: data_offsets [{}, {}] are reversed", where, entry.begin,
         entry.end);
  }
  if (entry.end > data_bytes) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: ends at byte {} of the data, which has {}: the file is truncated or the header wrong",
         where, entry.end, data_bytes);
  }
  if (entry.end - entry.begin != bytes) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes for {} {}, wanted {}", where,
         entry.end - entry.begin, dtype_name(entry.dtype), shape_text(entry.shape), bytes);
  }
}

// Checks that sorted entries leave no hole, do not overlap, and end where the data ends.
void check_layout(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes,
                  const std::string& name) {
  uint64_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].begin != end) {
      const bool overlap = entries[i].begin < end;
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: {} of {} bytes in the data: tensor '{}' begins at byte {}, {} ends at byte {}",
           name, overlap ? "overlap" : "hole",
           overlap ? end - entries[i].begin : entries[i].begin - end, printable(entries[i].name),
           entries[i].begin, i == 0 ? "the header" : "'" + printable(entries[i - 1].name) + "'",
           end);
    }
    end = entries[i].end;
  }
  if (end != data_bytes) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes after the last tensor", name, data_bytes - end);
  }
}

std::string read_header(const File& file) {
  const std::string name = file.path().string();
  refuse_lfs_pointer(file);
  if (file.size() < 8) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes, a safetensors file has at least 8", name,
         file.size());
  }
  unsigned char prefix[8];
  file.read(0, prefix, sizeof prefix);
  const uint64_t length = std::bit_cast<uint64_t>(prefix);
  if (length > kSafetensorsMaxHeader) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: header of {} bytes, at most {} are allowed: not a safetensors file, or a damaged one",
         name, length, kSafetensorsMaxHeader);
  }
  if (length > file.size() - 8) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: header of {} bytes at offset 8, but the file has {} bytes",
         name, length, file.size());
  }
  std::string header(length, '\0');
  file.read(8, header.data(), length);
  return header;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view header, uint64_t data_bytes,
                                           const std::string& name) {
  if (header.empty() || header.front() != '{') {
    fail(QUENCH_INVALID_ARGUMENT, "{}: header does not begin with '{{'", name);
  }
  JsonLimits limits;
  limits.max_bytes = kSafetensorsMaxHeader;
  limits.max_depth = 4;
  const json root = parse_json(header, name + ": header", limits);
  SafetensorsHeader out;
  for (const auto& [key, value] : root.items()) {
    if (key == kMetadata) {
      out.metadata = parse_metadata(value, name);
      continue;
    }
    const std::string where = name + ": tensor '" + printable(key) + "'";
    out.entries.push_back(parse_entry(key, value, where));
    check_entry(out.entries.back(), data_bytes, where);
  }
  // Empty tensors have the same offset as the next tensor and must come before it.
  std::stable_sort(out.entries.begin(), out.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  check_layout(out.entries, data_bytes, name);
  return out;
}

SafetensorsSource::SafetensorsSource(const std::filesystem::path& path)
    : TensorSource(path.string()), file_(path) {
  const std::string text = read_header(file_);
  const uint64_t data_start = 8 + text.size();
  SafetensorsHeader header =
      parse_safetensors_header(text, file_.size() - data_start, description());
  metadata_ = std::move(header.metadata);
  std::vector<std::string> names;
  for (SafetensorsEntry& entry : header.entries) {
    offsets_.push_back(data_start + entry.begin);
    names.push_back(std::move(entry.name));
  }
  unwrap_names(names);
  for (size_t i = 0; i < names.size(); ++i) {
    SafetensorsEntry& entry = header.entries[i];
    add({std::move(names[i]), entry.dtype, std::move(entry.shape), count()});
  }
}

void SafetensorsSource::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                      void* destination) const {
  const uint64_t size = dtype_size(info(index).dtype);
  file_.read(offsets_[index] + first * size, destination, elements * size);
}

}  // namespace quench
