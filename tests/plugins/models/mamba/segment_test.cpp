#include <catch2/catch.hpp>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/mamba/reference.hpp"

namespace quench::test {

namespace {

constexpr double kTolerance = 1e-12;  // products of another shape may round otherwise

// Logits [T][vocabulary] of one row.
std::vector<std::vector<double>> logits_of(ModelDriver& driver, const std::vector<int32_t>& ids,
                                           const std::vector<int32_t>& segments = {}) {
  const Tokens tokens{1, static_cast<int64_t>(ids.size()), ids, {}, segments};
  const at::Tensor all = driver.logits(driver.forward(tokens));
  std::vector<std::vector<double>> rows;
  for (int64_t t = 0; t < all.size(0); ++t) {
    rows.push_back(doubles(all.select(0, t)));
  }
  return rows;
}

}  // namespace

TEST_CASE("mamba: alternatives go on from the shared prefix, each on its own", "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  const std::vector<int32_t> first = {3, 9, 27, 1, 5, 6, 7};
  const std::vector<int32_t> second = {3, 9, 27, 1, 30, 31};
  const auto of_first = logits_of(driver, first);
  const auto of_second = logits_of(driver, second);
  struct Packing {
    std::vector<int32_t> ids;
    std::vector<int32_t> segments;
    std::vector<size_t> first_at;  // of the tokens behind the prefix
    std::vector<size_t> second_at;
  };
  const Packing behind = {
      {3, 9, 27, 1, 5, 6, 7, 30, 31}, {0, 0, 0, 0, 1, 1, 1, 2, 2}, {4, 5, 6}, {7, 8}};
  const Packing mixed = {
      {3, 9, 27, 1, 5, 30, 6, 0, 31, 7}, {0, 0, 0, 0, 1, 2, 1, -1, 2, 1}, {4, 6, 9}, {5, 8}};
  for (const Packing& packing : {behind, mixed}) {
    const auto found = logits_of(driver, packing.ids, packing.segments);
    for (size_t t = 0; t < 4; ++t) {
      CHECK(distance(found[t], of_first[t]) < kTolerance);
    }
    for (size_t i = 0; i < packing.first_at.size(); ++i) {
      CHECK(distance(found[packing.first_at[i]], of_first[4 + i]) < kTolerance);
    }
    for (size_t i = 0; i < packing.second_at.size(); ++i) {
      CHECK(distance(found[packing.second_at[i]], of_second[4 + i]) < kTolerance);
    }
  }
}

TEST_CASE("mamba: documents start without a state", "[models][mamba]") {
  const MambaReference reference("plain");
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  const auto packed = logits_of(driver, {3, 9, 27, 1, 30, 31, 2}, {1, 1, 1, 1, 2, 2, 2});
  const auto alone = logits_of(driver, {30, 31, 2});
  const auto one_text = logits_of(driver, {3, 9, 27, 1, 30, 31, 2});
  for (size_t t = 0; t < 3; ++t) {
    CHECK(distance(packed[4 + t], alone[t]) < kTolerance);
    CHECK(distance(one_text[4 + t], alone[t]) > 0.01);  // else the state says nothing
  }
}

TEST_CASE("mamba: a prefix that goes on behind an alternative is refused", "[models][mamba]") {
  const MambaReference reference("plain");
  ModelDriver driver(reference.config, reference.weights, kit::kFloat32);
  CHECK_THROWS_WITH(logits_of(driver, {1, 2, 3, 4}, {0, 1, 0, 1}),
                    Catch::Contains("row 0, column 2: a shared prefix goes on behind another"));
}

}  // namespace quench::test
