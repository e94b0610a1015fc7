// A small model of a family, opened and run stage by stage by the functions of its table.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "promises/candidate.hpp"
#include "promises/memory_source.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/model.h"

namespace quench::promises {

using Ids = std::vector<int32_t>;
using Owned = kit::OwnedTensor<float>;

// A tensor between stages, in the dtype that the family carries it in.
class Carried {
 public:
  Carried(quench_dtype dtype, std::vector<int64_t> shape)
      : dtype_(dtype),
        shape_(std::move(shape)),
        // every byte set: NaN in a float, -1 in an integer
        storage_(static_cast<size_t>(shape_[0] * shape_[1] * dtype.bits / 64 + 1), ~uint64_t{0}) {}
  bool is(quench_dtype dtype, const std::vector<int64_t>& shape) const {
    return kit::same(dtype_, dtype) && shape_ == shape;
  }
  // Those of `tokens`, `each` rows for one token.
  Carried rows(const std::vector<size_t>& tokens, int64_t each) const {
    Carried out(dtype_, {static_cast<int64_t>(tokens.size()) * each, shape_[1]});
    const auto bytes = static_cast<size_t>(each * shape_[1] * dtype_.bits / 8);
    const auto* from = reinterpret_cast<const char*>(storage_.data());
    auto* to = reinterpret_cast<char*>(out.storage_.data());
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::memcpy(to + i * bytes, from + tokens[i] * bytes, bytes);
    }
    return out;
  }
  std::vector<float> values() const {
    const auto* first = reinterpret_cast<const float*>(storage_.data());
    return {first, first + shape_[0] * shape_[1]};
  }
  // Valid as long as this object stays where it is.
  quench_tensor view() {
    return {storage_.data(), {QUENCH_DEVICE_CPU, 0}, 2, dtype_, shape_.data(), nullptr, 0};
  }

 private:
  quench_dtype dtype_;
  std::vector<int64_t> shape_;
  std::vector<uint64_t> storage_;
};

struct Batch {
  int64_t rows;
  int64_t length;
  Ids tokens;
  Ids segments = {};  // empty: none are passed
  Ids positions = {};
};

struct Scores {
  std::vector<double> nll;
  Ids argmax;
};

// An open model, in float32 unless said otherwise.
class OpenModel {
 public:
  OpenModel(Candidate& candidate, const SmallModel& small, uint32_t flags = 0,
            quench_dtype dtype = kit::kFloat32)
      : table(table_of<quench_model_table>(candidate)) {
    MemorySource source;
    for (const SmallTensor& tensor : small.tensors) {
      source.add(tensor.name, tensor.shape, tensor.values, kit::kFloat32);
    }
    const quench_model_open_args args = {sizeof args,
                                         flags,
                                         source.source(),
                                         small.config.data(),
                                         small.config.size(),
                                         {QUENCH_DEVICE_CPU, 0},
                                         dtype};
    status = table.open(&args, &model, &error);
  }
  // Throws Broken unless it opens.
  explicit OpenModel(Candidate& candidate) : OpenModel(candidate, small_model(candidate)) {
    expect(status == QUENCH_OK, "open: got the error \"{}\"", error.message);
  }
  ~OpenModel() {
    if (model != nullptr) {
      table.close(model);
    }
  }
  OpenModel(const OpenModel&) = delete;
  OpenModel& operator=(const OpenModel&) = delete;

  void ok(quench_status got) const {
    expect(got == QUENCH_OK, "got the error \"{}\"", error.message);
  }
  quench_model_info info() {
    quench_model_info found{};
    found.struct_size = sizeof found;
    ok(table.info(model, &found, &error));
    return found;
  }
  const quench_block_info& block(uint32_t b) {
    const quench_block_info* found = nullptr;
    ok(table.block(model, b, &found, &error));
    return *found;
  }
  std::vector<quench_carry_info> carry(uint32_t b, uint32_t stage) {
    const quench_carry_info* found = nullptr;
    uint32_t count = 0;
    ok(table.carry(model, b, stage, &found, &count, &error));
    return {found, found + count};
  }

  // The residual stream after the last block.
  Carried forward(const Batch& batch, bool in_place) {
    auto tokens = tensor<int32_t>({batch.rows, batch.length}, batch.tokens);
    auto segments = tensor<int32_t>({batch.rows, batch.length}, batch.segments);
    auto positions = tensor<int32_t>({batch.rows, batch.length}, batch.positions);
    const quench_tensor tokens_view = tokens.view();
    const quench_tensor segments_view = segments.view();
    const quench_tensor positions_view = positions.view();
    const quench_batch shown = {sizeof shown, 0, &tokens_view,
                                batch.positions.empty() ? nullptr : &positions_view,
                                batch.segments.empty() ? nullptr : &segments_view};
    const int64_t count = batch.rows * batch.length;
    std::map<std::string, Carried> carried;
    const std::string residual = carry(0, 0)[0].name;
    carried.emplace(residual, Carried(info().dtype, {count, info().width}));
    const quench_tensor h = carried.at(residual).view();
    const quench_embed_args embed = {sizeof embed, 0, &shown, &h, nullptr};
    ok(table.embed(model, &embed, &error));
    for (uint32_t b = 0; b < info().blocks; ++b) {
      for (uint32_t s = 0; s < block(b).stage_count; ++s) {
        run_stage(b, s, shown, count, carried, in_place);
      }
    }
    return carried.at(residual);
  }

  // The same for the tokens `kept`, which alone go through the last block from stage `from` on.
  Carried forward_few(const Batch& batch, const std::vector<size_t>& kept, uint32_t from) {
    auto tokens = tensor<int32_t>({batch.rows, batch.length}, batch.tokens);
    const quench_tensor tokens_view = tokens.view();
    const quench_batch all = {sizeof all, 0, &tokens_view, nullptr, nullptr};
    Ids few_ids;
    for (const size_t token : kept) {
      few_ids.push_back(batch.tokens[token]);
    }
    const auto few_count = static_cast<int64_t>(kept.size());
    auto few_tokens = tensor<int32_t>({few_count, 1}, few_ids);
    const quench_tensor few_view = few_tokens.view();
    const quench_batch few = {sizeof few, 0, &few_view, nullptr, nullptr};
    const int64_t count = batch.rows * batch.length;
    std::map<std::string, Carried> carried;
    const std::string residual = carry(0, 0)[0].name;
    carried.emplace(residual, Carried(info().dtype, {count, info().width}));
    const quench_tensor h = carried.at(residual).view();
    const quench_embed_args embed = {sizeof embed, 0, &all, &h, nullptr};
    ok(table.embed(model, &embed, &error));
    const uint32_t last = info().blocks - 1;
    for (uint32_t b = 0; b <= last; ++b) {
      for (uint32_t s = 0; s < block(b).stage_count; ++s) {
        if (b == last && s == from) {
          for (const quench_carry_info& one : carry(b, s)) {
            carried.at(one.name) = carried.at(one.name).rows(kept, one.rows_per_token);
          }
        }
        const bool narrow = b == last && s >= from;
        run_stage(b, s, narrow ? few : all, narrow ? few_count : count, carried, true);
      }
    }
    return carried.at(residual);
  }

  Scores score(const Batch& batch, bool in_place = false) {
    Carried h = forward(batch, in_place);
    Ids targets(batch.tokens.size(), -1);
    for (size_t i = 0; i + 1 < targets.size(); ++i) {
      const bool last = (i + 1) % static_cast<size_t>(batch.length) == 0;
      targets[i] = last ? -1 : batch.tokens[i + 1];
    }
    auto targets_tensor = tensor<int32_t>({batch.rows * batch.length}, targets);
    kit::OwnedTensor<double> nll({batch.rows * batch.length});
    kit::OwnedTensor<int32_t> argmax({batch.rows * batch.length});
    const quench_tensor h_view = h.view();
    const quench_tensor targets_view = targets_tensor.view();
    const quench_tensor nll_view = nll.view();
    const quench_tensor argmax_view = argmax.view();
    const quench_head_args head = {sizeof head,  0,      &h_view, &targets_view, &nll_view,
                                   &argmax_view, nullptr};
    ok(table.token_nll(model, &head, &error));
    return {nll.values(), argmax.values()};
  }

  std::vector<float> weight(const std::string& name, const std::vector<int64_t>& shape) {
    Owned value(shape);
    const quench_tensor view = value.view();
    ok(table.weight_get(model, name.c_str(), &view, &error));
    return value.values();
  }
  void set_weight(const std::string& name, const std::vector<int64_t>& shape,
                  const std::vector<float>& values) {
    Owned value = tensor<float>(shape, values);
    const quench_tensor view = value.view();
    ok(table.weight_set(model, name.c_str(), &view, &error));
  }
  uint64_t generation(const std::string& name) {
    uint64_t found = 0;
    ok(table.weight_generation(model, name.c_str(), &found, &error));
    return found;
  }

  const quench_model_table& table;
  quench_model* model = nullptr;
  quench_status status = QUENCH_OK;
  quench_error error{sizeof error, 0, {}};

 private:
  // One stage from `carried` to `carried`. In place, what keeps name and shape keeps its storage.
  void run_stage(uint32_t b, uint32_t s, const quench_batch& batch, int64_t count,
                 std::map<std::string, Carried>& carried, bool in_place) {
    std::map<std::string, Carried> next;
    std::vector<quench_tensor> in;
    std::vector<quench_tensor> out;
    for (const quench_carry_info& tensor : carry(b, s)) {
      expect(carried.count(tensor.name) == 1, "stage {} of block {} reads {}, which no stage gives",
             s, b, tensor.name);
      in.push_back(carried.at(tensor.name).view());
    }
    for (const quench_carry_info& made : carry(b, s + 1)) {
      const auto kept = carried.find(made.name);
      const std::vector<int64_t> shape = {count * made.rows_per_token, made.width};
      if (in_place && kept != carried.end() && kept->second.is(made.dtype, shape)) {
        out.push_back(kept->second.view());
        continue;
      }
      out.push_back(next.emplace(made.name, Carried(made.dtype, shape)).first->second.view());
    }
    const quench_stage_args args = {sizeof args,
                                    0,
                                    b,
                                    s,
                                    &batch,
                                    static_cast<uint32_t>(in.size()),
                                    static_cast<uint32_t>(out.size()),
                                    in.data(),
                                    out.data(),
                                    nullptr};
    ok(table.stage(model, &args, &error));
    for (const quench_carry_info& made : carry(b, s + 1)) {
      if (next.count(made.name) == 0) {
        next.emplace(made.name, carried.at(made.name));
      }
    }
    carried = std::move(next);
  }
};

inline Batch some_batch(OpenModel& model, int64_t rows, int64_t length) {
  Batch batch{rows, length, {}};
  for (const double value : numbers<double>(7, static_cast<size_t>(rows * length))) {
    batch.tokens.push_back(
        static_cast<int32_t>((value + 1) / 2 * static_cast<double>(model.info().vocabulary)));
  }
  return batch;
}

// The first linear of the model, its weight's shape and values.
struct FirstLinear {
  const quench_linear_info& info;
  std::vector<int64_t> shape;
  std::vector<float> values;
};
inline FirstLinear first_linear(OpenModel& model) {
  const quench_linear_info& info = model.block(0).groups[0].linears[0];
  const std::vector<int64_t> shape = {info.out_features, info.in_features};
  return {info, shape, model.weight(info.weight, shape)};
}

}  // namespace quench::promises
