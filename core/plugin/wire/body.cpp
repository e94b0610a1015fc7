#include "core/plugin/wire/body.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.hpp"
#include "core/plugin/wire/copy.hpp"

namespace quench::wire {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kMaxElements = uint64_t{1} << 40;

[[noreturn]] void refuse(const char* what) {
  fail(QUENCH_DATA_LOSS, "a message between processes: {}", what);
}

uint64_t padded(uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

uint64_t element_bytes(quench_dtype dtype) {
  return (uint64_t{dtype.bits} + 7) / 8;
}

bool is_contiguous(const quench_tensor& tensor) {
  if (tensor.strides == nullptr) {
    return true;
  }
  int64_t step = 1;
  for (int32_t d = tensor.dimensions; d-- > 0;) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != step) {
      return false;
    }
    step *= tensor.shape[d];
  }
  return true;
}

std::byte* first_byte(const quench_tensor& tensor) {
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

bool is_on_device(const quench_tensor& tensor) {
  return tensor.device.type != QUENCH_DEVICE_CPU;
}

// A view in C order of elements that a tensor of this shape has here.
quench_tensor in_host_memory(const quench_tensor& shape, std::byte* elements) {
  return {elements, {QUENCH_DEVICE_CPU, 0}, shape.dimensions, shape.dtype, shape.shape, nullptr, 0};
}

// Calls visit(element, place) for every element in C order: its number, and its place in elements.
template <typename Visit>
void each_element(const quench_tensor& tensor, Visit visit) {
  int64_t index[QUENCH_MAX_DIMENSIONS] = {};
  const uint64_t count = elements_of(tensor);
  int64_t place = 0;
  for (uint64_t element = 0; element < count; ++element) {
    visit(element, place);
    for (int32_t d = tensor.dimensions; d-- > 0;) {
      place += tensor.strides[d];
      if (++index[d] < tensor.shape[d]) {
        break;
      }
      place -= tensor.strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

void Writer::u64(uint64_t value) {
  const size_t at = body_.size();
  body_.resize(at + sizeof value);
  std::memcpy(body_.data() + at, &value, sizeof value);
}

void Writer::f64(double value) {
  u64(std::bit_cast<uint64_t>(value));
}

void Writer::blob(const void* data, uint64_t bytes) {
  if (data == nullptr) {
    u64(kNull);
    return;
  }
  u64(bytes);
  if (bytes <= kMaxInline) {
    const size_t at = body_.size();
    body_.resize(at + padded(bytes));
    if (bytes > 0) {
      std::memcpy(body_.data() + at, data, bytes);
    }
    return;
  }
  if (!memory_.holds(data)) {
    std::byte* own = memory_.take(bytes);
    copy(own, data, bytes);
    data = own;
  }
  u64(memory_.offset_of(data));
}

void Writer::text(const char* text) {
  blob(text, text == nullptr ? 0 : std::strlen(text));
}

uint64_t Reader::u64() {
  if (body_.size() < sizeof(uint64_t)) {
    refuse("it ends too early");
  }
  uint64_t value = 0;
  std::memcpy(&value, body_.data(), sizeof value);
  body_ = body_.subspan(sizeof value);
  return value;
}

uint32_t Reader::u32() {
  const uint64_t value = u64();
  if (value > UINT32_MAX) {
    refuse("a number does not fit into 32 bits");
  }
  return static_cast<uint32_t>(value);
}

int32_t Reader::i32() {
  const int64_t value = i64();
  if (value < INT32_MIN || value > INT32_MAX) {
    refuse("a number does not fit into 32 bits");
  }
  return static_cast<int32_t>(value);
}

double Reader::f64() {
  return std::bit_cast<double>(u64());
}

Blob Reader::blob() {
  const uint64_t bytes = u64();
  if (bytes == kNull) {
    return {};
  }
  if (bytes > kMaxInline) {
    const uint64_t offset = u64();
    const std::byte* at = memory_ == nullptr ? nullptr : memory_->at(offset, bytes);
    if (at == nullptr) {
      refuse("a value lies outside the shared memory");
    }
    return {at, bytes};
  }
  if (body_.size() < padded(bytes)) {
    refuse("it ends too early");
  }
  const Blob out{body_.data(), bytes};
  body_ = body_.subspan(padded(bytes));
  return out;
}

void Reader::copies(const Blob& blob) {
  if (blob.bytes <= kMaxInline) {
    return;
  }
  copied_ += blob.bytes;
  if (copied_ > kMaxBody && copied_ > memory_->written()) {
    refuse("it has values that nobody wrote");
  }
}

uint64_t Reader::count() {
  const uint64_t count = u64();
  if (count > body_.size() / 8 + 1) {
    refuse("it has fewer values than it says");
  }
  return count;
}

void Reader::finish() const {
  if (!body_.empty()) {
    refuse("it is longer than its function's");
  }
}

void* Keep::take(uint64_t bytes) {
  void* out = resource_.allocate(bytes == 0 ? 1 : bytes, kAlignment);
  std::memset(out, 0, bytes);
  return out;
}

void* Keep::copy_of(const void* data, uint64_t bytes) {
  auto* out = static_cast<std::byte*>(resource_.allocate(bytes + 1, kAlignment));
  copy(out, data, bytes);
  out[bytes] = std::byte{};
  return out;
}

const char* Keep::text(const Blob& blob) {
  return blob.data == nullptr ? nullptr : static_cast<const char*>(copy_of(blob.data, blob.bytes));
}

uint64_t elements_of(const quench_tensor& tensor) {
  uint64_t count = 1;
  for (int32_t d = 0; d < tensor.dimensions; ++d) {
    count *= static_cast<uint64_t>(tensor.shape[d]);
  }
  return count;
}

uint64_t bytes_of(const quench_tensor& tensor) {
  return elements_of(tensor) * element_bytes(tensor.dtype);
}

void put_shape(Writer& out, const quench_tensor* tensor) {
  out.u64(tensor == nullptr ? 0 : 1);
  if (tensor == nullptr) {
    return;
  }
  require_device_copy(*tensor);
  out.u64(tensor->dtype.code + 256u * tensor->dtype.bits + 65536u * tensor->dtype.lanes);
  out.i64(QUENCH_DEVICE_CPU);  // where the other process has it, wherever it is here
  out.i64(0);
  out.i64(tensor->dimensions);
  for (int32_t d = 0; d < tensor->dimensions; ++d) {
    out.i64(tensor->shape[d]);
  }
}

void put_tensor(Writer& out, const quench_tensor* tensor) {
  put_shape(out, tensor);
  if (tensor == nullptr) {
    return;
  }
  const uint64_t bytes = bytes_of(*tensor);
  if (tensor->data == nullptr && bytes > 0) {
    out.blob(nullptr, 0);
    return;
  }
  if (is_on_device(*tensor)) {
    std::byte* copy = out.memory().take(bytes);
    if (bytes > 0) {
      copy_on_device(*tensor, in_host_memory(*tensor, copy));
    }
    out.blob(copy, bytes);
    return;
  }
  if (is_contiguous(*tensor)) {
    out.blob(bytes == 0 ? static_cast<const void*>("") : first_byte(*tensor), bytes);
    return;
  }
  const uint64_t size = element_bytes(tensor->dtype);
  std::byte* copy = out.memory().take(bytes);
  each_element(*tensor, [&](uint64_t element, int64_t place) {
    std::memcpy(copy + element * size, first_byte(*tensor) + place * static_cast<int64_t>(size),
                size);
  });
  out.blob(copy, bytes);
}

quench_tensor* take_shape(Reader& in, Keep& keep) {
  if (in.u64() == 0) {
    return nullptr;
  }
  auto* out = keep.array<quench_tensor>(1);
  const uint64_t dtype = in.u64();
  out->dtype = {static_cast<uint8_t>(dtype), static_cast<uint8_t>(dtype >> 8),
                static_cast<uint16_t>(dtype >> 16)};
  out->device.type = in.i32();
  out->device.index = in.i32();
  out->dimensions = in.i32();
  if (dtype >> 32 != 0 || out->dimensions < 0 || out->dimensions > QUENCH_MAX_DIMENSIONS ||
      out->device.type != QUENCH_DEVICE_CPU) {
    refuse("a tensor of a type or shape that is none");
  }
  const auto dimensions = static_cast<uint64_t>(out->dimensions);
  auto* shape = keep.array<int64_t>(dimensions);
  auto* strides = keep.array<int64_t>(dimensions);
  uint64_t elements = 1;
  for (uint64_t d = 0; d < dimensions; ++d) {
    shape[d] = in.i64();
    if (shape[d] < 0 || static_cast<uint64_t>(shape[d]) > kMaxElements) {
      refuse("a tensor of a type or shape that is none");
    }
  }
  for (uint64_t d = dimensions; d-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[d]);
    if (size > 0 && elements > kMaxElements / size) {
      refuse("a tensor of a type or shape that is none");
    }
    strides[d] = static_cast<int64_t>(elements);
    elements *= size;
  }
  out->shape = shape;
  out->strides = strides;
  return out;
}

quench_tensor* take_tensor(Reader& in, Keep& keep) {
  quench_tensor* out = take_shape(in, keep);
  if (out == nullptr) {
    return nullptr;
  }
  const Blob elements = in.blob();
  if (elements.data == nullptr) {
    return out;  // a tensor without memory stays one
  }
  if (elements.bytes != bytes_of(*out)) {
    refuse("a tensor has more or fewer elements than its shape");
  }
  if (elements.bytes > kMaxInline) {
    out->data = const_cast<std::byte*>(elements.data);
  } else {
    out->data = keep.copy_of(elements.data, elements.bytes);
  }
  return out;
}

void copy_out(const Blob& elements, const quench_tensor& to) {
  if (elements.data == nullptr || elements.bytes != bytes_of(to)) {
    refuse("a tensor came back with more or fewer elements than its shape");
  }
  if (elements.bytes == 0) {
    return;
  }
  if (is_on_device(to)) {
    copy_on_device(in_host_memory(to, const_cast<std::byte*>(elements.data)), to);
    return;
  }
  if (is_contiguous(to)) {
    copy(first_byte(to), elements.data, elements.bytes);
    return;
  }
  const uint64_t size = element_bytes(to.dtype);
  each_element(to, [&](uint64_t element, int64_t place) {
    std::memcpy(first_byte(to) + place * static_cast<int64_t>(size), elements.data + element * size,
                size);
  });
}

}  // namespace quench::wire
