#include "core/checkpoint/abi_source.hpp"

#include <utility>

#include "core/answer.hpp"

namespace quench {

namespace {

// Runs `body(source)` and lets no exception escape.
template <typename Body>
quench_status guarded(const quench_source* source, quench_error* error, Body body) noexcept {
  return quench::guarded(error, [&] { body(*static_cast<const TensorSource*>(source->context)); });
}

uint64_t count(const quench_source* source) noexcept {
  return static_cast<const TensorSource*>(source->context)->count();
}

quench_status info(const quench_source* source, uint64_t index, quench_tensor_info* out,
                   quench_error* error) noexcept {
  return guarded(source, error, [&](const TensorSource& tensors) {
    const TensorInfo& tensor = tensors.info(index);
    answer_into(*out, {.struct_size = sizeof *out,
                       .name = tensor.name.c_str(),
                       .dtype = tensor.dtype,
                       .dimensions = static_cast<int32_t>(tensor.shape.size()),
                       .shape = tensor.shape.data(),
                       .shared_with = tensor.shared_with});
  });
}

quench_status find(const quench_source* source, const char* name, uint64_t* index,
                   quench_error* error) noexcept {
  return guarded(source, error,
                 [&](const TensorSource& tensors) { *index = tensors.index_of(name); });
}

quench_status read(const quench_source* source, uint64_t index, uint64_t first, uint64_t elements,
                   void* destination, quench_error* error) noexcept {
  return guarded(source, error, [&](const TensorSource& tensors) {
    tensors.read(index, first, elements, destination);
  });
}

}  // namespace

AbiSource::AbiSource(std::shared_ptr<const TensorSource> source)
    : source_(std::move(source)), table_{sizeof(quench_source),
                                         const_cast<TensorSource*>(source_.get()),
                                         count,
                                         info,
                                         find,
                                         read} {}

}  // namespace quench
