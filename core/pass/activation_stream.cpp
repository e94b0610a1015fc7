#include "core/pass/activation_stream.hpp"

#include <algorithm>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

uint64_t widest_carry(const ModelHandle& model) {
  uint64_t widest = 0;
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    for (uint32_t s = 0; s <= model.block(b).stage_count; ++s) {
      uint64_t bytes = 0;
      for (const quench_carry_info& tensor : model.carry(b, s)) {
        bytes +=
            static_cast<uint64_t>(tensor.width * tensor.rows_per_token) * tensor.dtype.bits / 8;
      }
      widest = std::max(widest, bytes);
    }
  }
  return widest;
}

int64_t micro_batch_tokens(const ModelHandle& model) {
  return micro_batch_tokens(model, model.info().device.type != QUENCH_DEVICE_CPU);
}

int64_t micro_batch_tokens(const ModelHandle& model, bool on_gpu) {
  if (!on_gpu) {
    return kMicroBatchTokens;
  }
  int64_t widest = model.info().width;
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        widest = std::max(widest, block.groups[g].linears[l].out_features);
      }
    }
  }
  return micro_batch_tokens_on_gpu(widest);
}

bool has_to_rest(ModelHandle& model, uint64_t tokens) {
  const uint64_t free = free_device_bytes(model);
  return free != UINT64_MAX && tokens * widest_carry(model) > free / 3;
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
    : model_(model),
      batches_(plan_micro_batches(starts, micro_batch_tokens(model))),
      rests_(has_to_rest(model, starts.empty() ? 0 : starts.back() - starts.front())) {
  if (!texts.empty() && (model.features() & QUENCH_MODEL_TAKES_ATTENDING_PADDING) == 0) {
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
  visit(batch);
  state.carried.push_back(
      {model_.carry(0, 0)[0].name, DeviceTensor(model_, info.dtype, {count, info.width})});
  const BatchView view(state);
  const quench_tensor h = state.carried[0].tensor.view();
  model_.embed({sizeof(quench_embed_args), 0, &view.batch, &h, nullptr});
}

void ActivationStream::stage(size_t batch, uint32_t block, uint32_t stage) {
  visit(batch);
  run_stage(batch, states_[batch].carried, block, stage);
}

void ActivationStream::rest() {
  rests_ = true;
  present_.reset();
  for (const State& state : states_) {
    for (const Named& named : state.carried) {
      named.tensor.memory()->rest();
    }
  }
}

void ActivationStream::visit(size_t batch) {
  if (!rests_ || present_ == batch) {
    return;
  }
  if (present_) {
    for (const Named& named : states_[*present_].carried) {
      named.tensor.memory()->rest();
    }
  }
  present_ = batch;
  for (const Named& named : states_[batch].carried) {
    named.tensor.memory()->wake();
  }
}

uint64_t ActivationStream::device_bytes() const {
  uint64_t bytes = 0;
  for (const State& state : states_) {
    for (const Named& named : state.carried) {
      bytes += named.tensor.memory()->data() != nullptr ? named.tensor.memory()->bytes() : 0;
    }
  }
  return bytes;
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
    named.tensor.memory()->copy_to(*copy.memory());
    copies.push_back({named.name, std::move(copy)});
  }
  return copies;
}

void ActivationStream::keep() {
  kept_.clear();
  for (size_t b = 0; b < states_.size(); ++b) {
    visit(b);
    kept_.push_back(copy(states_[b].carried));
    for (const Named& named : kept_.back()) {
      if (rests_) {
        named.tensor.memory()->rest();
      }
    }
  }
}

ActivationStream::Carried ActivationStream::replay(size_t batch, uint32_t block, uint32_t first,
                                                   uint32_t last, bool kept) {
  if (!kept) {
    visit(batch);
  }
  Carried carried = copy(kept ? kept_.at(batch) : states_[batch].carried);
  for (uint32_t stage = first; stage < last; ++stage) {
    run_stage(batch, carried, block, stage);
  }
  return carried;
}

void ActivationStream::with_input(
    size_t batch, bool kept,
    const std::function<void(const quench_batch&, const quench_tensor&)>& body) {
  if (!kept) {
    visit(batch);
  }
  // What was kept may rest in host memory.
  const Carried input =
      kept ? copy({kept_.at(batch).front()}) : Carried{states_[batch].carried.front()};
  const BatchView ids(states_[batch]);
  body(ids.batch, input.front().tensor.view());
}

void ActivationStream::rewind() {
  for (size_t b = 0; b < states_.size(); ++b) {
    states_[b].carried = std::move(kept_.at(b));
  }
  kept_.clear();
  present_.reset();
}

std::vector<quench_tensor> ActivationStream::carried(size_t batch) {
  visit(batch);
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
