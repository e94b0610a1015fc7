#include "core/pass/score_tree.hpp"
#include "run/manifest/single_checkpoint.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "core/arithmetic/prefix_batches.hpp"
#include "core/pass/score.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::ModelHandle;
using quench::plan_prefix_batches;
using quench::PrefixBatch;

namespace {

struct Rows {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts = {0};
  std::vector<uint64_t> scored_from;
  std::vector<int64_t> parents;
  std::vector<double> nll;
  std::vector<int32_t> argmax;

  void add(const std::vector<int32_t>& row, int64_t parent, uint64_t from) {
    ids.insert(ids.end(), row.begin(), row.end());
    starts.push_back(ids.size());
    scored_from.push_back(from);
    parents.push_back(parent);
  }
  quench_score_args args() {
    nll.assign(ids.size(), -1);
    argmax.assign(ids.size(), 0);
    return {sizeof(quench_score_args), 0,          parents.size(), ids.data(),    starts.data(),
            scored_from.data(),        nll.data(), argmax.data(),  parents.data()};
  }
  std::vector<int32_t> row(size_t b) const {
    return {ids.begin() + static_cast<ptrdiff_t>(starts[b]),
            ids.begin() + static_cast<ptrdiff_t>(starts[b + 1])};
  }
  // The whole text that ends with row b.
  std::vector<int32_t> path(size_t b) const {
    std::vector<int32_t> all = row(b);
    for (int64_t at = parents[b]; at >= 0; at = parents[static_cast<size_t>(at)]) {
      const std::vector<int32_t> above = row(static_cast<size_t>(at));
      all.insert(all.begin(), above.begin(), above.end());
    }
    return all;
  }
};

// Every row scored as a text of its own, without parents.
std::vector<double> one_by_one(ModelHandle& model, const Rows& rows) {
  std::vector<double> out(rows.ids.size());
  for (size_t b = 0; b < rows.parents.size(); ++b) {
    const std::vector<int32_t> text = rows.path(b);
    const std::vector<uint64_t> starts = {0, text.size()};
    std::vector<double> nll(text.size());
    quench::score(model, {sizeof(quench_score_args), 0, 1, text.data(), starts.data(), nullptr,
                          nll.data(), nullptr, nullptr});
    const size_t length = rows.starts[b + 1] - rows.starts[b];
    const size_t before = text.size() - length;
    for (size_t t = rows.scored_from[b]; t < length; ++t) {
      out[rows.starts[b] + t] = nll[before + t];
    }
  }
  return out;
}

// Texts that share what they begin with, three levels deep, some rows empty, some alone.
Rows random_rows(uint32_t seed, int32_t vocabulary) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<int32_t>(random() % n); };
  Rows rows;
  for (int b = 0; b < 60; ++b) {
    std::vector<int32_t> ids(static_cast<size_t>(below(12)));
    for (int32_t& id : ids) {
      id = below(static_cast<uint32_t>(vocabulary));
    }
    int64_t parent = b > 0 && below(5) > 0 ? below(static_cast<uint32_t>(b)) : -1;
    if (parent >= 0 && rows.path(static_cast<size_t>(parent)).size() > 60) {
      parent = -1;
    }
    rows.add(ids, parent, static_cast<uint64_t>(below(3)));
  }
  return rows;
}

void check_equal(ModelHandle& model, int32_t vocabulary, double tolerance) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    Rows rows = random_rows(seed, vocabulary);
    quench::score_tree(model, rows.args());
    const std::vector<double> expected = one_by_one(model, rows);
    size_t scored = 0;
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i] - rows.nll[i]));
      scored += expected[i] != 0 ? 1 : 0;
    }
    CAPTURE(seed);
    CHECK(scored > 100);
    CHECK(largest <= tolerance);
  }
}

constexpr quench::PrefixShape kShape{128, 256};

}  // namespace

TEST_CASE("score tree: every row is scored as if its whole text stood alone", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  check_equal(model, 256, 1e-6);
}

TEST_CASE("score tree: a trained model scores rows as if their whole text stood alone",
          "[core][run]") {
  const auto folder = quench::test::fixture("trajectories/gpt_neox-traj/step1200");
  quench::OpenCheckpoint checkpoint = quench::open_checkpoint(
      quench::test::built_catalog(), quench::single_checkpoint(folder.string()), {},
      {QUENCH_DTYPE_FLOAT, 64, 1}, {QUENCH_DEVICE_CPU, 0});
  check_equal(checkpoint.model, 592, 1e-9);
}

TEST_CASE("score tree: the last block ends with the scored tokens, unless an op looks at all rows",
          "[core][run]") {
  const auto folder = quench::test::fixture("trajectories/gpt_neox-traj/step1200");
  quench::OpenCheckpoint checkpoint = quench::open_checkpoint(
      quench::test::built_catalog(), quench::single_checkpoint(folder.string()), {},
      {QUENCH_DTYPE_FLOAT, 64, 1}, {QUENCH_DEVICE_CPU, 0});
  ModelHandle& model = checkpoint.model;
  CHECK(model.token_wise_from(1) == 2);
  const quench_linear_op op = {sizeof op, nullptr,
                               [](void*, const quench_tensor*, const quench_tensor*, void*,
                                  quench_error*) noexcept -> quench_status { return QUENCH_OK; },
                               [](void*) noexcept {}, nullptr};
  model.set_linear_op(1, 3, 0, &op);
  CHECK(model.token_wise_from(0) == 2);
  CHECK(model.token_wise_from(1) == model.block(1).stage_count);
  model.set_linear_op(1, 3, 0, nullptr);
  CHECK(model.token_wise_from(1) == 2);
}

TEST_CASE("score tree: alternatives of one id are predicted from the prefix's last position",
          "[core][run]") {
  Rows rows;
  rows.add({1, 2, 3, 4, 5}, -1, 5);
  for (int32_t choice = 10; choice < 14; ++choice) {
    rows.add({choice}, 0, 0);
  }
  const std::vector<PrefixBatch> batches = plan_prefix_batches(rows.args(), kShape);
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].ids == std::vector<int32_t>{1, 2, 3, 4, 5});
  CHECK(batches[0].segments.empty());
  REQUIRE(batches[0].scored.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(batches[0].scored[i].place == 4);
    CHECK(batches[0].scored[i].id == 5 + i);
  }
}

TEST_CASE("score tree: a prefix goes through once, alternatives beside each other after it",
          "[core][run]") {
  Rows rows;
  rows.add({1, 2, 3}, -1, 3);
  rows.add({4, 5, 6}, 0, 0);
  rows.add({7, 8}, 0, 0);
  const std::vector<PrefixBatch> batches = plan_prefix_batches(rows.args(), kShape);
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].ids == std::vector<int32_t>{1, 2, 3, 4, 5, 7});  // 6 and 8 predict nothing
  CHECK(batches[0].positions == std::vector<int32_t>{0, 1, 2, 3, 4, 3});
  CHECK(batches[0].segments == std::vector<int32_t>{0, 0, 0, 1, 1, 2});
  std::vector<std::pair<uint64_t, uint64_t>> scored;
  for (const quench::ScoredPlace& place : batches[0].scored) {
    scored.emplace_back(place.place, place.id);
  }
  CHECK(scored ==
        std::vector<std::pair<uint64_t, uint64_t>>{{2, 3}, {3, 4}, {4, 5}, {2, 6}, {5, 7}});
}

TEST_CASE("score tree: a long prefix below a short one becomes the prefix", "[core][run]") {
  Rows rows;
  rows.add({1}, -1, 1);
  for (int document = 0; document < 2; ++document) {
    const auto parent = static_cast<int64_t>(rows.parents.size());
    rows.add(std::vector<int32_t>(50, 2 + document), 0, 50);
    rows.add({7, 8, 9}, parent, 0);
    rows.add({7, 9, 9}, parent, 0);
  }
  const std::vector<PrefixBatch> batches = plan_prefix_batches(rows.args(), kShape);
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].rows == 2);  // one for each long prefix, the short one in front of both
  CHECK(batches[0].length == 1 + 50 + 2 + 2);
}

TEST_CASE("score tree: a pad repeats its row's first id in place 0", "[core][run]") {
  Rows rows;
  rows.add({5, 6, 7, 8}, -1, 1);
  rows.add({3, 4, 5}, -1, 1);
  const std::vector<PrefixBatch> batches = plan_prefix_batches(rows.args(), kShape);
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].ids == std::vector<int32_t>{3, 4, 3, 5, 6, 7});
  CHECK(batches[0].positions == std::vector<int32_t>{0, 1, 0, 0, 1, 2});
  CHECK(batches[0].segments == std::vector<int32_t>{0, 0, -1, 0, 0, 0});
}

TEST_CASE("score tree: a text may be one id longer than the model's positions", "[core][run]") {
  Rows rows;
  rows.add(std::vector<int32_t>(257, 1), -1, 256);
  CHECK(plan_prefix_batches(rows.args(), kShape).at(0).length == 256);
  Rows longer;
  longer.add(std::vector<int32_t>(200, 1), -1, 256);
  longer.add(std::vector<int32_t>(58, 1), 0, 0);
  CHECK(quench::test::message_of([&] { plan_prefix_batches(longer.args(), kShape); }) ==
        "score: row 1: 257 tokens with those before it, more than the 256 positions of the model");
}

TEST_CASE("score tree: a parent that is no earlier row is refused", "[core][run]") {
  for (const int64_t parent : {0, 1, -2}) {
    Rows rows;
    rows.add({1, 2}, parent, 1);
    CHECK(quench::test::message_of([&] { plan_prefix_batches(rows.args(), kShape); }) ==
          "score: row 0: its parent is " + std::to_string(parent) + ", wanted an earlier row");
  }
}
