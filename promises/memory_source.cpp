#include "promises/memory_source.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "quench/kit/tensor.hpp"

namespace quench::promises {

namespace {

quench_tensor view_of(std::string& bytes, const std::vector<int64_t>& shape, quench_dtype dtype) {
  return {bytes.data(),
          {QUENCH_DEVICE_CPU, 0},
          static_cast<int32_t>(shape.size()),
          dtype,
          shape.data(),
          nullptr,
          0};
}

quench_dtype dtype_of(const std::string& name) {
  return name == "F64"    ? kit::kFloat64
         : name == "F32"  ? kit::kFloat32
         : name == "F16"  ? kit::kFloat16
         : name == "BF16" ? kit::kBFloat16
         : name == "I32"  ? kit::kInt32
                          : throw std::runtime_error("safetensors dtype " + name);
}

}  // namespace

MemorySource::MemorySource() {
  source_.struct_size = sizeof source_;
  source_.context = this;
  source_.count = [](const quench_source* source) noexcept -> uint64_t {
    return self(source).entries_.size();
  };
  source_.info = [](const quench_source* source, uint64_t index, quench_tensor_info* info,
                    quench_error* error) noexcept -> quench_status {
    if (index >= self(source).entries_.size()) {
      return kit::report(error, QUENCH_INVALID_ARGUMENT, "no such tensor");
    }
    const Entry& entry = self(source).entries_[index];
    *info = {sizeof *info,       entry.name.c_str(),
             entry.dtype,        static_cast<int32_t>(entry.shape.size()),
             entry.shape.data(), index};
    return QUENCH_OK;
  };
  source_.find = [](const quench_source* source, const char* name, uint64_t* index,
                    quench_error* error) noexcept -> quench_status {
    const auto& entries = self(source).entries_;
    for (*index = 0; *index < entries.size(); ++*index) {
      if (entries[*index].name == name) {
        return QUENCH_OK;
      }
    }
    return kit::report(error, QUENCH_NOT_FOUND, name);
  };
  source_.read = [](const quench_source* source, uint64_t index, uint64_t first, uint64_t elements,
                    void* destination, quench_error* error) noexcept -> quench_status {
    const Entry& entry = self(source).entries_.at(index);
    const auto size = static_cast<uint64_t>(kit::bytes_of(entry.dtype));
    if ((first + elements) * size > entry.bytes.size()) {
      return kit::report(error, QUENCH_DATA_LOSS, entry.name.c_str());
    }
    std::memcpy(destination, entry.bytes.data() + first * size, elements * size);
    return QUENCH_OK;
  };
}

void MemorySource::add_bytes(const std::string& name, std::vector<int64_t> shape, std::string bytes,
                             quench_dtype dtype) {
  entries_.push_back({name, std::move(shape), std::move(bytes), dtype});
}

void MemorySource::add(const std::string& name, std::vector<int64_t> shape,
                       std::span<const double> values, quench_dtype dtype) {
  std::string bytes(values.size() * static_cast<size_t>(kit::bytes_of(dtype)), '\0');
  const quench_tensor view = view_of(bytes, shape, dtype);
  if (kit::same(dtype, kit::kInt32)) {
    std::copy(values.begin(), values.end(), kit::elements<int32_t>(view, "values").begin());
  } else {
    kit::from_doubles(values, view, "values");
  }
  add_bytes(name, std::move(shape), std::move(bytes), dtype);
}

void MemorySource::remove(const std::string& name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; });
}

void MemorySource::add_safetensors(const std::filesystem::path& path) {
  std::ostringstream read;
  read << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string file = read.str();
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const auto header = nlohmann::json::parse(file.substr(sizeof length, length));
  for (const auto& [name, tensor] : header.items()) {
    if (name != "__metadata__") {
      const auto begin = tensor.at("data_offsets").at(0).get<size_t>();
      const auto end = tensor.at("data_offsets").at(1).get<size_t>();
      add_bytes(name, tensor.at("shape").get<std::vector<int64_t>>(),
                file.substr(sizeof length + length + begin, end - begin),
                dtype_of(tensor.at("dtype").get<std::string>()));
    }
  }
}

const MemorySource::Entry& MemorySource::entry(const std::string& name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) {
      return entry;
    }
  }
  throw std::runtime_error("no tensor " + name);
}

std::vector<std::string> MemorySource::names() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_) {
    out.push_back(entry.name);
  }
  return out;
}

std::vector<double> MemorySource::values(const std::string& name) const {
  const Entry& found = entry(name);
  std::string bytes = found.bytes;
  const quench_tensor view = view_of(bytes, found.shape, found.dtype);
  if (kit::same(found.dtype, kit::kInt32)) {
    const auto integers = kit::elements<int32_t>(view, "values");
    return {integers.begin(), integers.end()};
  }
  return kit::to_doubles(view, "values");
}

std::vector<int64_t> MemorySource::shape(const std::string& name) const {
  return entry(name).shape;
}

}  // namespace quench::promises
