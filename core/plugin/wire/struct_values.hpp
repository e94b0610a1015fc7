// Values of the generated stubs that take more than a line: structs, arrays, tensors and memory
// that is lent.
#pragma once

#include <cstring>

#include "core/answer.hpp"
#include "core/error.hpp"
#include "core/plugin/wire/crossing.hpp"
#include "quench/abi/source.h"

namespace quench::wire {

// ---- structs ---------------------------------------------------------------------------------

template <typename S>
void put_struct(Sending& o, const S* value) {
  o.u64(value == nullptr ? 0 : 1);
  if (value != nullptr) {
    put(o, whole(value));
  }
}

template <typename S>
void put_structs(Sending& o, const S* first, uint64_t count) {
  o.u64(first == nullptr ? 0 : count + 1);
  for (uint64_t k = 0; first != nullptr && k < count; ++k) {
    put(o, whole(element(first, k)));
  }
}

template <typename S>
void put_pointers(Sending& o, const S* const* list, uint64_t count) {
  o.u64(list == nullptr ? 0 : count + 1);
  for (uint64_t k = 0; list != nullptr && k < count; ++k) {
    put(o, whole(list[k]));
  }
}

template <typename S>
S* take_structs(Receiving& i, uint64_t& count) {
  const uint64_t said = i.reader().count();
  if (said == 0) {
    count = 0;
    return nullptr;
  }
  count = said - 1;
  S* out = i.keep().array<S>(count);
  for (uint64_t k = 0; k < count; ++k) {
    out[k].struct_size = sizeof(S);
    take(i, out[k]);
  }
  return out;
}

template <typename S>
const S** take_pointers(Receiving& i, uint64_t& count) {
  const S* list = take_structs<S>(i, count);
  const S** out = list == nullptr ? nullptr : i.keep().array<const S*>(count);
  for (uint64_t k = 0; k < count; ++k) {
    out[k] = list + k;
  }
  return out;
}

template <typename S>
S* take_struct(Receiving& i) {
  if (i.u64() == 0) {
    return nullptr;
  }
  S* out = i.keep().array<S>(1);
  out->struct_size = sizeof(S);
  take(i, *out);
  return out;
}

// Fills a struct of the caller's, of its own version.
template <typename S>
void take_into(Receiving& i, S& to) {
  S value{};
  value.struct_size = to.struct_size;
  take(i, value);
  answer_into(to, value);
}

// ---- arrays ----------------------------------------------------------------------------------

void put_texts(Sending& o, const char* const* list, uint64_t count);
const char** take_texts(Receiving& i, uint64_t& count);

// Elements that the callee may change; they lie where the reply can point to them.
template <typename T>
T* elements_in_room(Receiving& i, uint64_t& count) {
  const Blob blob = i.reader().blob();
  count = blob.bytes / sizeof(T);
  if (blob.data == nullptr) {
    return nullptr;
  }
  i.reader().copies(blob);
  auto* out = static_cast<T*>(i.room(count, sizeof(T)));
  std::memcpy(out, blob.data, count * sizeof(T));
  return out;
}

// An output array of the caller's, of this many bytes; nullptr: it was not wanted.
void take_array(Receiving& i, void* to, uint64_t bytes);

// ---- tensors ---------------------------------------------------------------------------------

void put_tensors(Sending& o, const quench_tensor* list, uint64_t count);
void put_shapes(Sending& o, const quench_tensor* list, uint64_t count);
quench_tensor* take_tensors(Receiving& i, uint64_t& count);
void take_value(Receiving& i, quench_tensor& to);
// A view into memory of the message's keep.
void take_view(Receiving& i, quench_tensor& to);
// Outputs, in memory that the reply can point to: filled with 0xFF, which floats show as NaN, so
// that what the callee leaves out is not what an earlier call wrote; or with what came along.
quench_tensor* take_output(Receiving& i);
quench_tensor* take_outputs(Receiving& i, uint64_t& count);
quench_tensor* take_in_room(Receiving& i);
quench_tensor* take_tensors_in_room(Receiving& i, uint64_t& count);
void put_elements(Sending& o, const quench_tensor* tensor, uint64_t count = 1);
void take_elements(Receiving& i, const quench_tensor* tensor, uint64_t count = 1);

// ---- memory that is lent until the outer call returns ----------------------------------------

void* lend(RemoteInterface* self, uint64_t bytes);
void lend_view(RemoteInterface* self, quench_tensor* view, quench_dtype dtype, int32_t dimensions,
               const int64_t* shape);

// Bytes of a tensor of this shape; kNull where there is no such tensor.
uint64_t bytes_of_shape(quench_dtype dtype, int32_t dimensions, const int64_t* shape);
// Bytes of one element of a source's tensor.
uint64_t element_bytes_of(const quench_source* source, uint64_t index);

}  // namespace quench::wire
