#include "tests/contract/model_contract.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "quench/abi/extension/shapes.h"
#include "quench/abi/extension/token_wise.h"
#include "tests/contract/tensors.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/memory_source.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

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

// An open model in float32.
class OpenModel {
 public:
  OpenModel(const quench_item& item, const SmallModel& small, uint32_t flags = 0)
      : table(table_of<quench_model_table>(item)) {
    MemorySource source;
    for (const SmallTensor& tensor : small.tensors) {
      source.add(tensor.name, tensor.shape, tensor.values, kit::kFloat32);
    }
    const quench_model_open_args args = {sizeof args,         flags,
                                         source.source(),     small.config.data(),
                                         small.config.size(), {QUENCH_DEVICE_CPU, 0},
                                         kit::kFloat32};
    status = table.open(&args, &model, &error);
  }
  ~OpenModel() {
    if (model != nullptr) {
      table.close(model);
    }
  }

  void ok(quench_status got) const {
    INFO(error.message);
    REQUIRE(got == QUENCH_OK);
  }
  quench_model_info info() {
    quench_model_info found{};
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
      REQUIRE(carried.count(tensor.name) == 1);
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

Batch some_batch(OpenModel& model, int64_t rows, int64_t length) {
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
FirstLinear first_linear(OpenModel& model) {
  const quench_linear_info& info = model.block(0).groups[0].linears[0];
  const std::vector<int64_t> shape = {info.out_features, info.in_features};
  return {info, shape, model.weight(info.weight, shape)};
}

}  // namespace

namespace model_contract {

void descriptions_agree(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  model.ok(model.table.parameters(model.model, &parameters, &count, &model.error));
  std::map<std::string, std::vector<int64_t>> shapes;
  uint64_t offset = 0;
  for (uint64_t i = 0; i < count; ++i) {
    CHECK(parameters[i].offset == offset);
    const std::vector<int64_t> shape(parameters[i].shape,
                                     parameters[i].shape + parameters[i].dimensions);
    uint64_t elements = 1;
    for (const int64_t extent : shape) {
      elements *= static_cast<uint64_t>(extent);
    }
    offset += elements;
    shapes[parameters[i].name] = shape;
  }
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    REQUIRE(model.carry(b, 0).size() == 1);
    REQUIRE(model.carry(b, block.stage_count).size() == 1);
    CHECK(model.carry(b, 0)[0].width == model.info().width);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      const quench_group_info& group = block.groups[g];
      REQUIRE(group.stage < block.stage_count);
      const auto carried = model.carry(b, group.stage + 1);
      REQUIRE(group.input < static_cast<int32_t>(carried.size()));
      CHECK((group.rows >= 0) == (group.expert >= 0));
      if (group.rows >= 0) {  // several destinations a row at most
        REQUIRE(group.rows < static_cast<int32_t>(carried.size()));
        const quench_carry_info& rows = carried[static_cast<size_t>(group.rows)];
        CHECK(kit::same(rows.dtype, kit::kInt32));
        CHECK(rows.width == 1);
        CHECK(rows.rows_per_token % carried[static_cast<size_t>(group.input)].rows_per_token == 0);
      }
      for (uint32_t l = 0; l < group.linear_count; ++l) {
        const quench_linear_info& linear = group.linears[l];
        CHECK(linear.in_features == carried[static_cast<size_t>(group.input)].width);
        REQUIRE(shapes.count(linear.weight) == 1);
        CHECK(shapes[linear.weight] ==
              std::vector<int64_t>{linear.out_features, linear.in_features});
      }
    }
  }
}

void a_description_wants_no_weights(const quench_item& item, const SmallModel& small) {
  SmallModel bare = small;
  bare.tensors.clear();
  OpenModel shapes(item, bare, QUENCH_OPEN_SHAPES);
  if (shapes.status != QUENCH_OK) {
    CHECK(shapes.status != QUENCH_INTERNAL);
    CHECK(std::string(item.id).starts_with("template"));
    return;
  }
  OpenModel model(item, small);
  const auto said = [](OpenModel& open) {
    std::vector<std::string> out;
    const quench_parameter_info* parameters = nullptr;
    uint64_t count = 0;
    open.ok(open.table.parameters(open.model, &parameters, &count, &open.error));
    for (uint64_t i = 0; i < count; ++i) {
      out.emplace_back(parameters[i].name);
      out.push_back(std::to_string(parameters[i].offset));
    }
    for (uint32_t b = 0; b < open.info().blocks; ++b) {
      for (uint32_t g = 0; g < open.block(b).group_count; ++g) {
        const quench_group_info& group = open.block(b).groups[g];
        for (uint32_t l = 0; l < group.linear_count; ++l) {
          out.emplace_back(group.linears[l].name);
        }
      }
    }
    return out;
  };
  CHECK(said(shapes) == said(model));
}

void nll_is_that_of_the_logits(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const Batch batch = some_batch(model, 2, 9);
  Carried h = model.forward(batch, false);
  const Scores scores = model.score(batch);
  const auto vocabulary = static_cast<size_t>(model.info().vocabulary);
  Owned logits({18, model.info().vocabulary});
  const quench_tensor h_view = h.view();
  const quench_tensor logits_view = logits.view();
  model.ok(model.table.logits(model.model, &h_view, &logits_view, nullptr, &model.error));
  for (size_t n = 0; n < 18; ++n) {
    const float* row = &logits.values()[n * vocabulary];
    const float* most = std::max_element(row, row + vocabulary);
    CHECK(row[scores.argmax[n]] == *most);
    double sum = 0;
    for (size_t v = 0; v < vocabulary; ++v) {
      sum += std::exp(static_cast<double>(row[v]) - *most);
    }
    const double wanted =
        n % 9 == 8 ? 0 : *most + std::log(sum) - row[batch.tokens[n + 1]];  // fp32 logits
    CHECK(scores.nll[n] == Approx(wanted).epsilon(1e-5).margin(1e-6));
  }
}

void in_place_gives_the_same_bits(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const Batch batch = some_batch(model, 2, 12);
  CHECK(differences(model.score(batch, true).nll, model.score(batch, false).nll) == "");
}

void the_future_and_other_rows_do_not_matter(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const Batch both = some_batch(model, 2, 12);
  const std::vector<double> nll = model.score(both).nll;
  Batch changed = both;
  changed.tokens[11] = (changed.tokens[11] + 1) % static_cast<int32_t>(model.info().vocabulary);
  const std::vector<double> changed_nll = model.score(changed).nll;
  for (size_t t = 0; t < 10; ++t) {
    CHECK(changed_nll[t] == nll[t]);
  }
  CHECK(changed_nll[10] != nll[10]);  // its target is another one
  const Batch second{1, 12, {both.tokens.begin() + 12, both.tokens.end()}};
  const std::vector<double> alone = model.score(second).nll;
  for (size_t t = 0; t < 12; ++t) {  // a product of another shape may round otherwise
    CHECK(alone[t] == Approx(nll[12 + t]).epsilon(1e-4));
  }
}

void some_tokens_may_end_alone(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const auto* token_wise = static_cast<const quench_model_token_wise*>(
      model.table.extension == nullptr
          ? nullptr
          : model.table.extension(model.model, QUENCH_MODEL_TOKEN_WISE));
  if (token_wise == nullptr) {
    return;
  }
  const uint32_t last = model.info().blocks - 1;
  const uint32_t from = token_wise->from(model.model, last);
  REQUIRE(from < model.block(last).stage_count);
  const Batch batch = some_batch(model, 2, 12);
  const std::vector<size_t> kept = {3, 4, 11, 12, 20};
  const std::vector<float> wanted = model.forward(batch, false).rows(kept, 1).values();
  const std::vector<float> found = model.forward_few(batch, kept, from).values();
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {  // a product of another shape may round otherwise
    CHECK(found[i] == Approx(wanted[i]).epsilon(1e-4).margin(1e-5));
  }
}

void segments_are_contexts_of_their_own(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const Batch packed_from = some_batch(model, 2, 6);
  Batch packed{1, 14, packed_from.tokens};
  packed.tokens.insert(packed.tokens.begin() + 6, 1);  // padding between and behind
  packed.tokens.push_back(2);
  packed.segments = {1, 1, 1, 1, 1, 1, -1, 2, 2, 2, 2, 2, 2, -1};
  packed.positions = {0, 1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5, 0};
  const std::vector<double> apart = model.score(packed_from).nll;
  const std::vector<double> together = model.score(packed).nll;
  for (size_t t = 0; t < 5; ++t) {
    CHECK(together[t] == Approx(apart[t]).epsilon(1e-4));
    CHECK(together[7 + t] == Approx(apart[6 + t]).epsilon(1e-4));
  }
}

void weights_come_back_after_a_restore(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  const FirstLinear linear = first_linear(model);
  const Batch batch = some_batch(model, 1, 12);
  const std::vector<double> before = model.score(batch).nll;
  const uint64_t generation = model.generation(linear.info.weight);
  std::vector<float> other = linear.values;
  for (float& value : other) {
    value = -value;
  }
  model.set_weight(linear.info.weight, linear.shape, other);
  CHECK(model.weight(linear.info.weight, linear.shape) == other);
  CHECK(model.generation(linear.info.weight) > generation);
  CHECK(model.score(batch).nll != before);
  model.set_weight(linear.info.weight, linear.shape, linear.values);
  CHECK(differences(model.score(batch).nll, before) == "");
}

void a_linear_op_replaces_and_leaves(const quench_item& item, const SmallModel& small) {
  struct Op {
    int applied = 0;
    int released = 0;
  } counts;
  const auto apply = [](void* context, const quench_tensor*, const quench_tensor* y, void*,
                        quench_error*) noexcept -> quench_status {
    ++static_cast<Op*>(context)->applied;
    for (float& value : kit::elements<float>(*y, "y")) {
      value = 0;
    }
    return QUENCH_OK;
  };
  const auto release = [](void* context) noexcept { ++static_cast<Op*>(context)->released; };
  OpenModel model(item, small);
  model.ok(model.status);
  const Batch batch = some_batch(model, 1, 12);
  const FirstLinear linear = first_linear(model);
  const std::vector<double> before = model.score(batch).nll;
  const quench_linear_op op = {sizeof op, &counts, apply, release};
  model.ok(model.table.set_linear_op(model.model, 0, 0, 0, &op, &model.error));
  const std::vector<double> with_op = model.score(batch).nll;
  CHECK(counts.applied >= 1);
  CHECK(counts.released == 0);
  model.ok(model.table.set_linear_op(model.model, 0, 0, 0, nullptr, &model.error));
  CHECK(counts.released == 1);
  CHECK(differences(model.score(batch).nll, before) == "");
  model.set_weight(linear.info.weight, linear.shape, std::vector<float>(linear.values.size()));
  const std::vector<double> with_zeros = model.score(batch).nll;
  for (size_t t = 0; t < with_op.size(); ++t) {
    CHECK(with_op[t] == Approx(with_zeros[t]).epsilon(1e-6));
  }
}

void missing_unexpected_and_misshapen_tensors_are_named(const quench_item& item,
                                                        const SmallModel& small) {
  const auto refused = [&item](const SmallModel& changed, const std::string& name) {
    OpenModel model(item, changed);
    CHECK(model.status != QUENCH_OK);
    CHECK(model.status != QUENCH_INTERNAL);
    CHECK_THAT(model.error.message, Catch::Contains(name));
  };
  for (size_t i = 0; i < small.tensors.size(); ++i) {
    SmallModel missing = small;
    missing.tensors.erase(missing.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    refused(missing, small.tensors[i].name);
    SmallModel misshapen = small;
    SmallTensor& longer = misshapen.tensors[i];
    longer.values.resize(longer.values.size() +
                         longer.values.size() / static_cast<size_t>(longer.shape[0]));
    longer.shape[0] += 1;
    refused(misshapen, small.tensors[i].name);
  }
  SmallModel more = small;
  more.tensors.push_back({"a.stranger.weight", {1}, {0.0}});
  refused(more, "a.stranger.weight");
}

void ids_outside_the_vocabulary_are_refused(const quench_item& item, const SmallModel& small) {
  OpenModel model(item, small);
  model.ok(model.status);
  for (const int32_t bad : {-1, static_cast<int32_t>(model.info().vocabulary)}) {
    auto tokens = tensor<int32_t>({1, 2}, {0, bad});
    const quench_tensor view = tokens.view();
    const quench_batch batch = {sizeof batch, 0, &view, nullptr, nullptr};
    Owned h({2, model.info().width});
    const quench_tensor h_view = h.view();
    const quench_embed_args args = {sizeof args, 0, &batch, &h_view, nullptr};
    CHECK(model.table.embed(model.model, &args, &model.error) == QUENCH_INVALID_ARGUMENT);
  }
}

void numbers_of_a_config_are_checked(const quench_item& item, const SmallModel& small) {
  const auto good = nlohmann::json::parse(small.config);
  const auto status_of = [&](const nlohmann::json& config, std::string& message) {
    const SmallModel model{config.dump(), {}};
    const OpenModel open(item, model, QUENCH_OPEN_SHAPES);
    message = open.error.message;
    return open.status;
  };
  std::string message;
  if (status_of(good, message) != QUENCH_OK) {
    CHECK(std::string(item.id).starts_with("template"));
    return;
  }
  for (const auto& [key, value] : good.items()) {
    if (!value.is_number()) {
      continue;
    }
    std::vector<nlohmann::json> bad = {
        -1, "8", true, nlohmann::json::array(), nlohmann::json::object(), -0.5, 0};
    const bool whole = value.is_number_integer() && key != "rotary_emb_base";
    if (whole) {
      bad.insert(bad.end(), {1.5, 1'000'000'000, INT64_MAX, INT64_MIN, 1e300});
    } else if (key != "clip_qkv") {  // one that is too large clips nothing
      bad.insert(bad.end(), {1e300});
    }
    for (const nlohmann::json& wrong : bad) {
      nlohmann::json config = good;
      config[key] = wrong;
      CAPTURE(key, wrong.dump());
      const quench_status status = status_of(config, message);
      CHECK((status == QUENCH_INVALID_ARGUMENT || status == QUENCH_UNSUPPORTED));
      CHECK_THAT(message, Catch::Contains(key));
    }
  }
}

}  // namespace model_contract

namespace {

template <typename Check>
void for_each_model(Check check) {
  for (const quench_item* item : items_of(MODEL_LIBRARIES, "model")) {
    DYNAMIC_SECTION(item->id) {
      const SmallModel small = small_model(item->id);
      const int64_t before = live_allocations();
      check(*item, small);
      CHECK(live_allocations() == before);
    }
  }
}

}  // namespace

TEST_CASE("every model's descriptions agree with one another", "[contract][models]") {
  for_each_model(model_contract::descriptions_agree);
}
TEST_CASE("every model says its shapes without weights, or refuses to", "[contract][models]") {
  for_each_model(model_contract::a_description_wants_no_weights);
}
TEST_CASE("every model's token_nll is that of its logits", "[contract][models]") {
  for_each_model(model_contract::nll_is_that_of_the_logits);
}
TEST_CASE("every model gives the same bits in place", "[contract][models]") {
  for_each_model(model_contract::in_place_gives_the_same_bits);
}
TEST_CASE("every model is causal and keeps rows apart", "[contract][models]") {
  for_each_model(model_contract::the_future_and_other_rows_do_not_matter);
}
TEST_CASE("every model that looks at tokens alone at its end may be given some of them",
          "[contract][models]") {
  for_each_model(model_contract::some_tokens_may_end_alone);
}
TEST_CASE("every model keeps packed segments apart", "[contract][models]") {
  for_each_model(model_contract::segments_are_contexts_of_their_own);
}
TEST_CASE("every model is itself again after its weights are restored", "[contract][models]") {
  for_each_model(model_contract::weights_come_back_after_a_restore);
}
TEST_CASE("every model runs a linear op in place of a linear and lets go of it",
          "[contract][models]") {
  for_each_model(model_contract::a_linear_op_replaces_and_leaves);
}
TEST_CASE("every model refuses missing, unexpected and misshapen tensors by name",
          "[contract][models]") {
  for_each_model(model_contract::missing_unexpected_and_misshapen_tensors_are_named);
}
TEST_CASE("every model refuses bad numbers of a config by their key", "[contract][models]") {
  for_each_model(model_contract::numbers_of_a_config_are_checked);
}
TEST_CASE("every model refuses ids outside its vocabulary", "[contract][models]") {
  for_each_model(model_contract::ids_outside_the_vocabulary_are_refused);
}

}  // namespace quench::test
