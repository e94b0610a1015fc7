#include "core/pass/activation_stream.hpp"

#include <algorithm>
#include <cstring>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/io/tensor_memory.hpp"
#include "quench/abi/extension/pads.h"

namespace quench {

namespace {

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

uint64_t bytes_of(quench_dtype dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = dtype.bits / 8u;
  for (const int64_t size : shape) {
    bytes *= static_cast<uint64_t>(size);
  }
  return bytes;
}

}  // namespace

DeviceMemory::DeviceMemory(ModelHandle& model, uint64_t bytes) : model_(model), bytes_(bytes) {
  // A zero-sized tensor still has an address; the ABI promises an alignment of 64 bytes.
  const uint64_t wanted = std::max<uint64_t>(64, (bytes + 63) / 64 * 64);
  if (model.has_own_memory()) {
    data_ = model.allocate(wanted);
  } else {
    data_ = allocate_tensor_memory(wanted);
    if (data_ == nullptr) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for {} bytes of activations", wanted);
    }
  }
}

DeviceMemory::~DeviceMemory() {
  if (model_.has_own_memory()) {
    model_.release(data_);
  } else {
    release_tensor_memory(data_);
  }
}

DeviceTensor::DeviceTensor(ModelHandle& model, quench_dtype dtype,
                           const std::vector<int64_t>& shape)
    : DeviceTensor(std::make_shared<DeviceMemory>(model, bytes_of(dtype, shape)),
                   model.info().device, dtype, shape) {}

DeviceTensor::DeviceTensor(std::shared_ptr<DeviceMemory> memory, quench_device device,
                           quench_dtype dtype, std::vector<int64_t> shape)
    : memory_(std::move(memory)),
      device_(device),
      dtype_(dtype),
      shape_(std::move(shape)),
      strides_(contiguous_strides(shape_)) {}

quench_tensor DeviceTensor::view() const {
  return {memory_->data(), device_, static_cast<int32_t>(shape_.size()), dtype_, shape_.data(),
          strides_.data(), 0};
}

DeviceTensor rows_at(ModelHandle& model, const quench_tensor& from,
                     std::span<const uint64_t> places, uint64_t each) {
  const int64_t width = from.shape[1];
  DeviceTensor out(model, from.dtype, {static_cast<int64_t>(places.size() * each), width});
  const uint64_t row_bytes = static_cast<uint64_t>(width) * (from.dtype.bits / 8u);
  for (size_t first = 0, end = 0; first < places.size(); first = end) {
    end = first + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) {
      ++end;
    }
    const int64_t shape[2] = {static_cast<int64_t>((end - first) * each), width};
    const auto run = [&](const quench_tensor& matrix, uint64_t row) {
      quench_tensor view = matrix;
      view.shape = shape;
      view.data = static_cast<char*>(matrix.data) + row * row_bytes;
      return view;
    };
    const quench_tensor source = run(from, places[first] * each);
    const quench_tensor target = run(out.view(), first * each);
    if (from.device.type == QUENCH_DEVICE_CPU) {
      std::memcpy(target.data, source.data, (end - first) * each * row_bytes);
    } else {
      model.copy(source, target);
    }
  }
  return out;
}

namespace {

// Otherwise the family complains of a row and a column, which do not say where the ids came from.
void check_vocabulary(const ModelHandle& model, std::span<const int32_t> ids) {
  const int64_t vocabulary = model.info().vocabulary;
  const auto foreign =
      std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return id < 0 || id >= vocabulary; });
  if (foreign != ids.end()) {
    fail(QUENCH_INVALID_ARGUMENT,
         "model {}: got the token id {}, wanted 0..{}: the tokenizer, or the file of ids, is that "
         "of another model",
         model.id(), *foreign, vocabulary - 1);
  }
}

}  // namespace

ActivationStream::ActivationStream(ModelHandle& model, std::span<const int32_t> ids,
                                   std::span<const uint64_t> starts,
                                   std::span<const uint64_t> texts)
    : model_(model), batches_(plan_micro_batches(starts)) {
  if (!texts.empty() && model.extension(QUENCH_MODEL_PADS) == nullptr) {
    fail(QUENCH_UNSUPPORTED, "model {}: cannot run pads that count", model.id());
  }
  const int64_t longest = model.info().max_positions;
  check_vocabulary(model, ids);
  for (const MicroBatch& batch : batches_) {
    if (batch.length > longest) {
      fail(QUENCH_INVALID_ARGUMENT,
           "model {}: a sequence of {} tokens, more than the {} positions of its config; wanted a "
           "smaller `block` or `length`",
           model.id(), batch.length, longest);
    }
    State state;
    state.shape = {static_cast<int64_t>(batch.rows.size()), batch.length};
    state.strides = contiguous_strides(state.shape);
    for (const uint64_t row : batch.rows) {
      state.tokens.insert(state.tokens.end(), ids.begin() + static_cast<ptrdiff_t>(starts[row]),
                          ids.begin() + static_cast<ptrdiff_t>(starts[row + 1]));
      if (!texts.empty()) {
        state.segments.insert(state.segments.end(), texts[row], 0);
        state.segments.resize(state.tokens.size(), QUENCH_SEGMENT_ATTENDING_PADDING);
      }
    }
    if (std::count(state.segments.begin(), state.segments.end(), 0) ==
        static_cast<ptrdiff_t>(state.segments.size())) {
      state.segments.clear();  // plain text only
    }
    states_.push_back(std::move(state));
  }
}

ActivationStream::ActivationStream(ModelHandle& model, const std::vector<PrefixBatch>& batches)
    : model_(model) {
  for (const PrefixBatch& batch : batches) {
    batches_.push_back({{}, batch.length});
    State state;
    state.tokens = batch.ids;
    if (!batch.segments.empty()) {
      state.positions = batch.positions;
      state.segments = batch.segments;
    }
    state.shape = {batch.rows, batch.length};
    state.strides = contiguous_strides(state.shape);
    states_.push_back(std::move(state));
  }
}

ActivationStream::BatchView::BatchView(const State& state) {
  const auto view = [&](const std::vector<int32_t>& values) {
    return quench_tensor{const_cast<int32_t*>(values.data()),
                         {QUENCH_DEVICE_CPU, 0},
                         2,
                         {QUENCH_DTYPE_INT, 32, 1},
                         state.shape.data(),
                         state.strides.data(),
                         0};
  };
  tokens = view(state.tokens);
  positions = view(state.positions);
  segments = view(state.segments);
  batch = {sizeof batch, 0, &tokens, state.positions.empty() ? nullptr : &positions,
           state.segments.empty() ? nullptr : &segments};
}

quench_tensor ActivationStream::tokens(size_t batch) const {
  return BatchView(states_[batch]).tokens;
}

void ActivationStream::embed(size_t batch) {
  State& state = states_[batch];
  const quench_model_info info = model_.info();
  const int64_t count = state.shape[0] * state.shape[1];
  state.carried.clear();
  state.carried.push_back(
      {model_.carry(0, 0)[0].name, DeviceTensor(model_, info.dtype, {count, info.width})});
  const BatchView view(state);
  const quench_tensor h = state.carried[0].tensor.view();
  model_.embed({sizeof(quench_embed_args), 0, &view.batch, &h, nullptr});
}

void ActivationStream::stage(size_t batch, uint32_t block, uint32_t stage) {
  run_stage(batch, states_[batch].carried, block, stage);
}

void ActivationStream::run_stage(size_t batch, Carried& carried, uint32_t block,
                                 uint32_t stage) const {
  const State& state = states_[batch];
  const int64_t count = state.shape[0] * state.shape[1];
  std::vector<Named> next;
  for (const quench_carry_info& wanted : model_.carry(block, stage + 1)) {
    const std::vector<int64_t> shape{count * wanted.rows_per_token, wanted.width};
    const auto same = std::find_if(carried.begin(), carried.end(), [&](const Named& in) {
      const quench_tensor view = in.tensor.view();
      return in.name == wanted.name && same_dtype(view.dtype, wanted.dtype) &&
             view.shape[0] == shape[0] && view.shape[1] == shape[1];
    });
    if (same != carried.end()) {  // in place: the residual stream exists once
      next.push_back({wanted.name, same->tensor});
    } else {
      next.push_back({wanted.name, DeviceTensor(model_, wanted.dtype, shape)});
    }
  }
  const auto views = [](const std::vector<Named>& list) {
    std::vector<quench_tensor> out;
    out.reserve(list.size());
    for (const Named& named : list) {
      out.push_back(named.tensor.view());
    }
    return out;
  };
  const std::vector<quench_tensor> in = views(carried);
  const std::vector<quench_tensor> out = views(next);
  const BatchView ids(state);
  model_.stage({sizeof(quench_stage_args), 0, block, stage, &ids.batch,
                static_cast<uint32_t>(in.size()), static_cast<uint32_t>(out.size()), in.data(),
                out.data(), nullptr});
  carried = std::move(next);
}

void ActivationStream::forward(size_t batch) {
  embed(batch);
  for (uint32_t block = 0; block < model_.info().blocks; ++block) {
    for (uint32_t s = 0; s < model_.block(block).stage_count; ++s) {
      stage(batch, block, s);
    }
  }
}

void ActivationStream::forward(size_t batch, std::span<const uint64_t> places) {
  embed(batch);
  const uint32_t blocks = model_.info().blocks;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t stages = model_.block(block).stage_count;
    const uint32_t alone = block + 1 < blocks ? stages : model_.token_wise_from(block);
    for (uint32_t s = 0; s < stages; ++s) {
      if (block + 1 == blocks && s == alone) {
        narrow(batch, places, block, s);
      }
      stage(batch, block, s);
    }
    if (block + 1 == blocks && alone == stages) {
      narrow(batch, places, block, stages);
    }
  }
}

void ActivationStream::narrow(size_t batch, std::span<const uint64_t> places, uint32_t block,
                              uint32_t stage) {
  State& state = states_[batch];
  if (places.size() == state.tokens.size()) {
    return;
  }
  const std::span<const quench_carry_info> infos = model_.carry(block, stage);
  Carried narrowed;
  for (size_t i = 0; i < state.carried.size(); ++i) {
    narrowed.push_back(
        {state.carried[i].name, rows_at(model_, state.carried[i].tensor.view(), places,
                                        static_cast<uint64_t>(infos[i].rows_per_token))});
  }
  state.carried = std::move(narrowed);
  std::vector<int32_t> tokens;
  for (const uint64_t place : places) {
    tokens.push_back(state.tokens[place]);
  }
  state.tokens = std::move(tokens);
  state.positions.clear();
  state.segments.clear();
  state.shape = {static_cast<int64_t>(places.size()), 1};
  state.strides = contiguous_strides(state.shape);
}

ActivationStream::Carried ActivationStream::copy(const Carried& from) const {
  Carried copies;
  for (const Named& named : from) {
    const quench_tensor view = named.tensor.view();
    DeviceTensor copy(model_, view.dtype, {view.shape, view.shape + view.dimensions});
    if (model_.has_own_memory()) {
      model_.copy(view, copy.view());
    } else {
      std::memcpy(copy.memory()->data(), view.data, named.tensor.memory()->bytes());
    }
    copies.push_back({named.name, std::move(copy)});
  }
  return copies;
}

void ActivationStream::keep() {
  kept_.clear();
  for (const State& state : states_) {
    kept_.push_back(copy(state.carried));
  }
}

ActivationStream::Carried ActivationStream::replay(size_t batch, uint32_t block, uint32_t first,
                                                   uint32_t last, bool kept) const {
  Carried carried = copy(kept ? kept_.at(batch) : states_[batch].carried);
  for (uint32_t stage = first; stage < last; ++stage) {
    run_stage(batch, carried, block, stage);
  }
  return carried;
}

void ActivationStream::rewind() {
  for (size_t b = 0; b < states_.size(); ++b) {
    states_[b].carried = std::move(kept_.at(b));
  }
  kept_.clear();
}

std::vector<quench_tensor> ActivationStream::carried(size_t batch) const {
  std::vector<quench_tensor> out;
  for (const Named& named : states_[batch].carried) {
    out.push_back(named.tensor.view());
  }
  return out;
}

void ActivationStream::release(size_t batch) {
  states_[batch].carried.clear();
}

}  // namespace quench
