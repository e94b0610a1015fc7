#include "core/checkpoint/safetensors_writer.hpp"

#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/error.hpp"

namespace quench {

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path,
                                     std::map<std::string, std::string> metadata,
                                     WrittenFiles* list)
    : path_(std::move(path)), metadata_(std::move(metadata)), list_(list) {}

void SafetensorsWriter::declare(const TensorInfo& tensor) {
  const std::string where = path_.string() + ": tensor '" + printable(tensor.name) + "'";
  if (file_) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: declared after the first write", where);
  }
  if (tensor.name == "__metadata__") {
    fail(QUENCH_INVALID_ARGUMENT, "{}: the name is reserved", where);
  }
  if (tensor.shape.size() > QUENCH_MAX_DIMENSIONS) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} dimensions, at most {} are written", where,
         tensor.shape.size(), QUENCH_MAX_DIMENSIONS);
  }
  const std::optional<uint64_t> elements = element_count(tensor.shape);
  uint64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, dtype_size(tensor.dtype), &bytes) ||
      __builtin_add_overflow(data_bytes_, bytes, &bytes)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: shape {} overflows", where, shape_text(tensor.shape));
  }
  dtype_from_name(dtype_name(tensor.dtype), where);
  if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: name given twice", where);
  }
  tensors_.push_back(tensor);
  data_bytes_ = bytes;
}

void SafetensorsWriter::begin() {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata_.empty()) {
    header["__metadata__"] = metadata_;
  }
  uint64_t offset = 0;
  for (const TensorInfo& tensor : tensors_) {
    const uint64_t end = offset + *element_count(tensor.shape) * dtype_size(tensor.dtype);
    header[tensor.name] = {{"dtype", dtype_name(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: a tensor name or metadata is not UTF-8", path_.string());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kSafetensorsMaxHeader) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: header of {} bytes, at most {} are allowed", path_.string(),
         text.size(), kSafetensorsMaxHeader);
  }
  file_.emplace(path_, 8 + text.size() + data_bytes_, list_);
  const uint64_t length = text.size();
  file_->write(&length, sizeof length);
  file_->write(text);
}

void SafetensorsWriter::write(const void* data, uint64_t bytes) {
  if (!file_) {
    begin();
  }
  if (bytes > data_bytes_ - written_) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes after {} of {} declared", path_.string(), bytes,
         written_, data_bytes_);
  }
  file_->write(data, bytes);
  written_ += bytes;
}

void SafetensorsWriter::finish() {
  if (!file_) {
    begin();
  }
  if (written_ != data_bytes_) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: finished after {} of {} bytes declared", path_.string(),
         written_, data_bytes_);
  }
  file_->commit();
}

}  // namespace quench
