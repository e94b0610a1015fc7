#include "tests/contract/model_contract.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "tests/contract/open_model.hpp"
#include "tests/contract/tensors.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

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
  if (model.table.token_wise_from == nullptr) {
    return;
  }
  const uint32_t last = model.info().blocks - 1;
  const uint32_t from = model.table.token_wise_from(model.model, last);
  REQUIRE(from <= model.block(last).stage_count);
  if (from == model.block(last).stage_count) {
    return;
  }
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

}  // namespace model_contract

void for_each_model(void (*check)(const quench_item& item, const SmallModel& small)) {
  for (const quench_item* item : items_of(MODEL_LIBRARIES, "model")) {
    DYNAMIC_SECTION(item->id) {
      const SmallModel small = small_model(item->id);
      const int64_t before = live_allocations();
      check(*item, small);
      CHECK(live_allocations() == before);
    }
  }
}

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

}  // namespace quench::test
