#include "core/plugin/wire/struct_values.hpp"

#include "core/plugin/wire/copy.hpp"

namespace quench::wire {

namespace {

quench_tensor* with_room(Receiving& i, quench_tensor* tensor) {
  if (tensor != nullptr) {
    tensor->data = i.room(bytes_of(*tensor), 1);
  }
  return tensor;
}

// A list of tensors, each as `take_one` makes it, or nullptr where there was none.
template <typename TakeOne>
quench_tensor* take_list(Receiving& i, uint64_t& count, const TakeOne& take_one) {
  const uint64_t said = i.reader().count();
  count = said == 0 ? 0 : said - 1;
  auto* out = said == 0 ? nullptr : i.keep().array<quench_tensor>(count);
  for (uint64_t k = 0; k < count; ++k) {
    const quench_tensor* one = take_one();
    if (one == nullptr) {
      refuse_message("a tensor is missing");
    }
    out[k] = *one;
  }
  return out;
}

}  // namespace

void put_texts(Sending& o, const char* const* list, uint64_t count) {
  o.u64(list == nullptr ? 0 : count + 1);
  for (uint64_t k = 0; list != nullptr && k < count; ++k) {
    o.text(list[k]);
  }
}

const char** take_texts(Receiving& i, uint64_t& count) {
  const uint64_t said = i.reader().count();
  count = said == 0 ? 0 : said - 1;
  const char** out = said == 0 ? nullptr : i.keep().array<const char*>(count);
  for (uint64_t k = 0; k < count; ++k) {
    out[k] = i.required_text();
  }
  return out;
}

void take_array(Receiving& i, void* to, uint64_t bytes) {
  const Blob blob = i.reader().blob();
  if (to == nullptr && blob.data == nullptr) {
    return;
  }
  if (to == nullptr || blob.data == nullptr || blob.bytes != bytes) {
    refuse_message("an output of another size than was asked for");
  }
  copy(to, blob.data, bytes);
}

void put_tensors(Sending& o, const quench_tensor* list, uint64_t count) {
  o.u64(list == nullptr ? 0 : count + 1);
  for (uint64_t k = 0; list != nullptr && k < count; ++k) {
    put_tensor(o.writer(), list + k);
  }
}

void put_shapes(Sending& o, const quench_tensor* list, uint64_t count) {
  o.u64(list == nullptr ? 0 : count + 1);
  for (uint64_t k = 0; list != nullptr && k < count; ++k) {
    put_shape(o.writer(), list + k);
  }
}

quench_tensor* take_tensors(Receiving& i, uint64_t& count) {
  return take_list(i, count, [&] { return take_tensor(i.reader(), i.keep()); });
}

void take_value(Receiving& i, quench_tensor& to) {
  const quench_tensor* value = take_tensor(i.reader(), i.keep());
  if (value == nullptr) {
    refuse_message("a tensor is missing");
  }
  to = *value;
}

void take_view(Receiving& i, quench_tensor& to) {
  take_value(i, to);
  const uint64_t bytes = bytes_of(to);
  if (to.data == nullptr && bytes > 0) {
    refuse_message("a view of nothing");
  }
  i.reader().copies({static_cast<const std::byte*>(to.data), bytes});
  to.data = i.keep().copy_of(to.data, bytes);
}

quench_tensor* take_output(Receiving& i) {
  quench_tensor* tensor = with_room(i, take_shape(i.reader(), i.keep()));
  if (tensor != nullptr && tensor->data != nullptr) {
    std::memset(tensor->data, 0xFF, bytes_of(*tensor));
  }
  return tensor;
}

quench_tensor* take_outputs(Receiving& i, uint64_t& count) {
  return take_list(i, count, [&] { return take_output(i); });
}

quench_tensor* take_in_room(Receiving& i) {
  quench_tensor* tensor = take_tensor(i.reader(), i.keep());
  if (tensor != nullptr && tensor->data != nullptr) {
    const void* from = tensor->data;
    i.reader().copies({static_cast<const std::byte*>(from), bytes_of(*tensor)});
    with_room(i, tensor);
    copy(tensor->data, from, bytes_of(*tensor));
  }
  return tensor;
}

quench_tensor* take_tensors_in_room(Receiving& i, uint64_t& count) {
  return take_list(i, count, [&] { return take_in_room(i); });
}

void put_elements(Sending& o, const quench_tensor* tensor, uint64_t count) {
  for (uint64_t k = 0; tensor != nullptr && k < count; ++k) {
    // The callee wrote through the view that it was given, which is in C order.
    o.blob(tensor[k].data, bytes_of(tensor[k]));
  }
}

void take_elements(Receiving& i, const quench_tensor* tensor, uint64_t count) {
  for (uint64_t k = 0; tensor != nullptr && k < count; ++k) {
    copy_out(i.reader().blob(), tensor[k]);
  }
}

void* lend(RemoteInterface* self, uint64_t bytes) {
  if (self->own == nullptr) {
    self->own = std::make_unique<Keep>();
  }
  void* memory = self->own->take(bytes);
  self->deferred.push_back({memory, bytes});
  return memory;
}

void lend_view(RemoteInterface* self, quench_tensor* view, quench_dtype dtype, int32_t dimensions,
               const int64_t* shape) {
  if (self->own == nullptr) {
    self->own = std::make_unique<Keep>();
  }
  const auto rank = static_cast<uint64_t>(std::clamp(dimensions, 0, QUENCH_MAX_DIMENSIONS));
  auto* own_shape = self->own->array<int64_t>(rank);
  auto* strides = self->own->array<int64_t>(rank);
  int64_t step = 1;
  for (uint64_t d = rank; d-- > 0;) {
    own_shape[d] = shape[d];
    strides[d] = step;
    step *= shape[d];
  }
  *view = {nullptr, {QUENCH_DEVICE_CPU, 0}, static_cast<int32_t>(rank), dtype, own_shape, strides,
           0};
  view->data = lend(self, bytes_of(*view));
}

uint64_t bytes_of_shape(quench_dtype dtype, int32_t dimensions, const int64_t* shape) {
  uint64_t bytes = (uint64_t{dtype.bits} + 7) / 8;
  for (int32_t d = 0; d < dimensions; ++d) {
    if (shape == nullptr || shape[d] < 0 ||
        (shape[d] > 0 && bytes > kMemoryBytes / static_cast<uint64_t>(shape[d]))) {
      return kNull;
    }
    bytes *= static_cast<uint64_t>(shape[d]);
  }
  return bytes;
}

uint64_t element_bytes_of(const quench_source* source, uint64_t index) {
  quench_tensor_info info{sizeof info, nullptr, {}, 0, nullptr, 0};
  quench_error error{sizeof error, 0, {}};
  if (source->info(source, index, &info, &error) != QUENCH_OK) {
    fail(QUENCH_INVALID_ARGUMENT, "tensor {} of a source: {}", index, error.message);
  }
  return (uint64_t{info.dtype.bits} + 7) / 8;
}

}  // namespace quench::wire
