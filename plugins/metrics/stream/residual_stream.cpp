#include "metrics/stream/residual_stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::metrics {

namespace {

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> out(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = step;
    step *= shape[d];
  }
  return out;
}

}  // namespace

Buffer::Buffer(const quench_subject& subject, const quench_model_info& info, quench_dtype dtype,
               std::vector<int64_t> shape)
    : subject_(subject),
      device_(info.device),
      dtype_(dtype),
      shape_(std::move(shape)),
      strides_(strides_of(shape_)),
      size_(static_cast<uint64_t>(shape_[0] * strides_[0] * kit::bytes_of(dtype))) {
  const uint64_t wanted = std::max<uint64_t>(64, (size_ + 63) / 64 * 64);
  if (subject.table->allocate != nullptr) {
    quench_error error{sizeof error, 0, {}};
    kit::check(subject.table->allocate(subject.model, wanted, &data_, &error), error);
  } else if ((data_ = std::aligned_alloc(64, wanted)) == nullptr) {
    kit::fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for %llu bytes of activations",
              static_cast<unsigned long long>(wanted));
  }
}

Buffer::~Buffer() {
  if (subject_.table->allocate != nullptr) {
    subject_.table->release(subject_.model, data_);
  } else {
    std::free(data_);
  }
}

quench_tensor Buffer::view() const {
  return {data_,           device_, static_cast<int32_t>(shape_.size()), dtype_, shape_.data(),
          strides_.data(), 0};
}

std::vector<char> Buffer::bytes() const {
  std::vector<char> out(size_);
  if (subject_.table->allocate == nullptr || subject_.table->copy == nullptr) {
    std::memcpy(out.data(), data_, size_);
    return out;
  }
  const quench_tensor from = view();
  quench_tensor to = from;
  to.data = out.data();
  to.device = {QUENCH_DEVICE_CPU, 0};
  quench_error error{sizeof error, 0, {}};
  kit::check(subject_.table->copy(subject_.model, &from, &to, nullptr, &error), error);
  return out;
}

void Buffer::copy_from(const Buffer& other) {
  if (subject_.table->allocate == nullptr || subject_.table->copy == nullptr) {
    std::memcpy(data_, other.data_, size_);
    return;
  }
  const quench_tensor from = other.view();
  const quench_tensor to = view();
  quench_error error{sizeof error, 0, {}};
  kit::check(subject_.table->copy(subject_.model, &from, &to, nullptr, &error), error);
}

ResidualStream::ResidualStream(const quench_subject& subject, std::span<const int32_t> ids,
                               int64_t rows, int64_t length)
    : subject_(subject),
      ids_(ids.begin(), ids.end()),
      shape_{rows, length},
      strides_(strides_of(shape_)) {
  quench_error error{sizeof error, 0, {}};
  info_.struct_size = sizeof info_;
  kit::check(subject.table->info(subject.model, &info_, &error), error);
}

quench_tensor ResidualStream::tokens() const {
  return {const_cast<int32_t*>(ids_.data()),
          {QUENCH_DEVICE_CPU, 0},
          2,
          kit::kInt32,
          shape_.data(),
          strides_.data(),
          0};
}

void ResidualStream::embed() {
  quench_error error{sizeof error, 0, {}};
  carried_ = {
      {"h", std::make_shared<Buffer>(subject_, info_, info_.dtype,
                                     std::vector<int64_t>{shape_[0] * shape_[1], info_.width})}};
  const quench_tensor ids = tokens();
  const quench_batch batch{sizeof batch, 0, &ids, nullptr, nullptr};
  const quench_tensor h = carried_[0].buffer->view();
  const quench_embed_args args{sizeof args, 0, &batch, &h, nullptr};
  kit::check(subject_.table->embed(subject_.model, &args, &error), error);
}

ResidualStream ResidualStream::copied() const {
  ResidualStream out(subject_, ids_, shape_[0], shape_[1]);
  for (const Named& named : carried_) {
    const Buffer& from = *named.buffer;
    out.carried_.push_back(
        {named.name, std::make_shared<Buffer>(subject_, info_, from.dtype(), from.shape())});
    out.carried_.back().buffer->copy_from(from);
  }
  return out;
}

void ResidualStream::block(uint32_t block) {
  quench_error error{sizeof error, 0, {}};
  const quench_block_info* info = nullptr;
  kit::check(subject_.table->block(subject_.model, block, &info, &error), error);
  for (uint32_t s = 0; s < info->stage_count; ++s) {
    stage(block, s);
  }
}

void ResidualStream::stage(uint32_t block, uint32_t stage) {
  quench_error error{sizeof error, 0, {}};
  const quench_carry_info* wanted = nullptr;
  uint32_t count = 0;
  kit::check(subject_.table->carry(subject_.model, block, stage + 1, &wanted, &count, &error),
             error);
  std::vector<Named> next;
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<int64_t> shape{shape_[0] * shape_[1] * wanted[i].rows_per_token, wanted[i].width};
    // Tensor 0 is the residual stream, whatever its name. It is updated in place, so it exists
    // once.
    const std::string name = i == 0 ? "h" : wanted[i].name;
    const auto same = std::find_if(carried_.begin(), carried_.end(), [&](const Named& in) {
      return in.name == name && kit::same(in.buffer->dtype(), wanted[i].dtype) &&
             in.buffer->shape() == shape;
    });
    next.push_back({name, same != carried_.end()
                              ? same->buffer
                              : std::make_shared<Buffer>(subject_, info_, wanted[i].dtype, shape)});
  }
  std::vector<quench_tensor> in;
  std::vector<quench_tensor> out;
  for (const Named& named : carried_) {
    in.push_back(named.buffer->view());
  }
  for (const Named& named : next) {
    out.push_back(named.buffer->view());
  }
  const quench_tensor ids = tokens();
  const quench_batch batch{sizeof batch, 0, &ids, nullptr, nullptr};
  const quench_stage_args args{sizeof args,
                               0,
                               block,
                               stage,
                               &batch,
                               static_cast<uint32_t>(in.size()),
                               static_cast<uint32_t>(out.size()),
                               in.data(),
                               out.data(),
                               nullptr};
  kit::check(subject_.table->stage(subject_.model, &args, &error), error);
  carried_ = std::move(next);
}

}  // namespace quench::metrics
