// Positions and segments: packed documents, shared prefixes, padding.
#include <catch2/catch.hpp>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// float64: what separate rows give up to the order of sums in a GEMM.
constexpr double kSame = 1e-11;

struct Opened {
  TinyModel model;
  MemorySource source;
  std::unique_ptr<ModelDriver> driver;

  explicit Opened(quench_dtype dtype = kit::kFloat64) {
    model.draw();
    model.store(source, kit::kFloat32);
    driver = std::make_unique<ModelDriver>(model.config(), source, dtype);
  }
  // Logits of one row alone at positions 0..T-1.
  std::vector<double> alone(const std::vector<int32_t>& ids) const {
    return of(Tokens{1, static_cast<int64_t>(ids.size()), ids});
  }
  std::vector<double> of(const Tokens& tokens) const {
    return doubles(driver->logits(driver->forward(tokens)));
  }
  // Rows [first, end) of logits.
  std::vector<double> part(const std::vector<double>& logits, int64_t first, int64_t end) const {
    return {logits.begin() + first * model.vocabulary, logits.begin() + end * model.vocabulary};
  }
};

const std::vector<int32_t> kA = {5, 9, 2, 30, 7};
const std::vector<int32_t> kB = {11, 3, 3, 8};

}  // namespace

TEST_CASE("gpt_neox: packed documents give what separate rows give", "[models][gpt_neox]") {
  const Opened opened;
  const Tokens packed{1,
                      9,
                      {5, 9, 2, 30, 7, 11, 3, 3, 8},
                      {0, 1, 2, 3, 4, 0, 1, 2, 3},
                      {1, 1, 1, 1, 1, 2, 2, 2, 2}};
  const std::vector<double> logits = opened.of(packed);
  CHECK(distance(opened.part(logits, 0, 5), opened.alone(kA)) < kSame);
  CHECK(distance(opened.part(logits, 5, 9), opened.alone(kB)) < kSame);
  Tokens unmarked = packed;
  unmarked.segments.clear();
  CHECK(distance(opened.part(opened.of(unmarked), 5, 9), opened.alone(kB)) > 1e-3);
}

TEST_CASE("gpt_neox: a shared prefix with two branches gives two rows", "[models][gpt_neox]") {
  const Opened opened;
  const Tokens shared{1,
                      7,
                      {5, 9, 2, /**/ 30, 7, /**/ 11, 3},
                      {0, 1, 2, /**/ 3, 4, /**/ 3, 4},
                      {0, 0, 0, /**/ 1, 1, /**/ 2, 2}};
  const std::vector<double> logits = opened.of(shared);
  CHECK(distance(opened.part(logits, 0, 5), opened.alone({5, 9, 2, 30, 7})) < kSame);
  CHECK(distance(opened.part(logits, 5, 7), opened.part(opened.alone({5, 9, 2, 11, 3}), 3, 5)) <
        kSame);
}

TEST_CASE("gpt_neox: a segment that returns sees its earlier part", "[models][gpt_neox]") {
  const Opened opened;
  const Tokens woven{1, 5, {5, 11, 9, 3, 2}, {0, 0, 1, 1, 2}, {1, 2, 1, 2, 1}};
  const std::vector<double> logits = opened.of(woven);
  const std::vector<double> first = opened.alone({5, 9, 2});
  CHECK(distance(opened.part(logits, 4, 5), opened.part(first, 2, 3)) < kSame);
  CHECK(distance(opened.part(logits, 3, 4), opened.part(opened.alone({11, 3}), 1, 2)) < kSame);
}

TEST_CASE("gpt_neox: padding is seen by nobody and stays finite", "[models][gpt_neox]") {
  const Opened opened(GENERATE(kit::kFloat64, kit::kFloat32, kit::kFloat16));
  const Tokens padded{2,
                      5,
                      {0, 0, 11, 3, 3, /**/ 5, 9, 2, 30, 0},
                      {0, 0, 0, 1, 2, /**/ 0, 1, 2, 3, 0},
                      {-1, -1, 1, 1, 1, /**/ 1, 1, 1, 1, -1}};
  const std::vector<double> logits = opened.of(padded);
  CHECK(distance(logits, logits) == 0.0);
  Tokens others = padded;
  others.ids[0] = 31;
  others.ids[9] = 14;
  CHECK(opened.part(opened.of(others), 2, 9) == opened.part(logits, 2, 9));
  if (kit::same(opened.driver->info().dtype, kit::kFloat64)) {
    CHECK(distance(opened.part(logits, 2, 5), opened.alone({11, 3, 3})) < kSame);
    CHECK(distance(opened.part(logits, 5, 9), opened.alone({5, 9, 2, 30})) < kSame);
  }
}

TEST_CASE("gpt_neox: only distances between positions matter", "[models][gpt_neox]") {
  const Opened opened;
  const Tokens shifted{1, 5, kA, {40, 41, 42, 43, 44}};
  // Angles are float32, so a shift costs their rounding.
  CHECK(distance(opened.of(shifted), opened.alone(kA)) < 1e-4);
  const Tokens spread{1, 5, kA, {0, 2, 4, 6, 8}};
  CHECK(distance(opened.of(spread), opened.alone(kA)) > 1e-3);
}

TEST_CASE("gpt_neox: a batch that cannot be is refused by name", "[models][gpt_neox]") {
  const Opened opened;
  const auto refuses = [&](const Tokens& tokens, const std::string& message) {
    CHECK_THROWS_WITH(opened.driver->forward(tokens), Catch::Contains(message));
  };
  refuses({1, 3, {1, 37, 2}}, "token ids: row 0, column 1: got 37, wanted 0..36");
  refuses({2, 2, {1, 2, 3, -1}}, "token ids: row 1, column 1: got -1");
  refuses({1, 2, {1, 2}, {0, 64}}, "positions: row 0, column 1: got 64, wanted 0..63");
  refuses({1, 65, std::vector<int32_t>(65, 1)}, "rows of 65 tokens, the model has 64 positions");
  refuses({1, 0, {}}, "no rows or no columns");
}

}  // namespace quench::test
