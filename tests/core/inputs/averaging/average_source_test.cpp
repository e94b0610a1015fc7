#include "core/inputs/averaging/average_source.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>

#include "core/inputs/averaging/average_identity.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "tests/core/inputs/averaging/given_source.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

using Floats = std::vector<float>;

AveragingCell averaging(const std::string& id, const nlohmann::json& given = {}) {
  const PluginDescription& plugin = built_catalog().require("averaging", id);
  std::vector<ParameterProblem> problems;
  AveragingCell cell{
      &plugin,
      complete_parameters(plugin, given.is_null() ? nlohmann::json::object() : given, problems), id,
      ""};
  REQUIRE(problems.empty());
  return cell;
}

std::shared_ptr<GivenSource> source() {
  return std::make_shared<GivenSource>();
}

AverageMember member(const std::string& name, std::shared_ptr<const TensorSource> tensors,
                     std::optional<int64_t> step = {}) {
  return {name, step, {}, std::move(tensors)};
}

// One tensor `w`.
AverageMember vector_member(const std::string& name, const Floats& values) {
  auto tensors = source();
  tensors->tensor("w", kFloat32, {static_cast<int64_t>(values.size())}, values);
  return member(name, tensors);
}

template <typename T = float>
std::vector<T> values(const TensorSource& tensors, const std::string& name) {
  const uint64_t index = tensors.index_of(name);
  std::vector<T> out(*element_count(tensors.info(index).shape));
  REQUIRE(dtype_size(tensors.info(index).dtype) == sizeof(T));
  tensors.read(index, 0, out.size(), out.data());
  return out;
}

AverageSource average(const AveragingCell& cell, std::vector<AverageMember> members,
                      AverageOptions options = {}) {
  return AverageSource(built_catalog(), cell, std::move(members), std::move(options));
}

// Numbers whose sums depend on the order of summation even in float64.
Floats awkward(uint64_t seed, size_t count) {
  Floats out(count);
  uint64_t state = seed * 2 + 1;
  for (float& value : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = std::ldexp(static_cast<float>(static_cast<int32_t>(state >> 32)),
                       static_cast<int>((state >> 20) % 70) - 60);
  }
  return out;
}

}  // namespace

TEST_CASE("average source: every scheme has the values worked by hand", "[core][averaging]") {
  const std::vector<AverageMember> three = {vector_member("a", {1, 2}), vector_member("b", {2, 4}),
                                            vector_member("c", {6, -3})};
  CHECK(values(average(averaging("lawa", {{"window", 3}}), three), "w") == Floats{3, 1});
  CHECK(values(average(averaging("soup"), three), "w") == Floats{3, 1});
  CHECK(values(average(averaging("linear", {{"weights", {1, 2, 1}}}), three), "w") ==
        Floats{2.75F, 1.75F});
  CHECK(values(average(averaging("linear", {{"weights", {1, 1, -1}}, {"normalize", false}}), three),
               "w") == Floats{-3, 9});
  // β = 1/2: m = 1·½, then 1·¼ + 2·½, then 1·⅛ + 2·¼ + 6·½ = 3.625, corrected by 1 − ⅛.
  CHECK(values(average(averaging("ema", {{"decay", 0.5}}), three), "w") ==
        Floats{static_cast<float>(3.625 / 0.875), static_cast<float>(-0.25 / 0.875)});
  CHECK(values(average(averaging("ema", {{"decay", 0}}), three), "w") == Floats{6, -3});
}

TEST_CASE("average source: sums are float64 and rounded once", "[core][averaging]") {
  // In float32, 1 + 2^-24 is 1; in float64 the mean of the four is 1 + 2^-24 − 2^-54·... above a
  // tie.
  const std::vector<AverageMember> members = {
      vector_member("a", {0x1p30F}), vector_member("b", {1}), vector_member("c", {-0x1p30F}),
      vector_member("d", {1})};
  CHECK(values(average(averaging("soup"), members), "w") == Floats{0.5F});
  const std::vector<AverageMember> near = {vector_member("a", {1}), vector_member("b", {1}),
                                           vector_member("c", {1 + 0x1p-22F})};
  // The mean is 1 + 2^-22/3, nearest float32 1 + 2^-23: exact in float64 before the one rounding.
  CHECK(values(average(averaging("soup"), near), "w") == Floats{1 + 0x1p-23F});
  CHECK(values<double>(average(averaging("soup"), near, {kFloat64, {}, 1}), "w") ==
        std::vector<double>{(3 + 0x1p-22) / 3});
}

TEST_CASE("average source: members may be of different floating types", "[core][averaging]") {
  auto half = source();
  half->tensor<uint16_t>("w", kFloat16, {2}, {0x3C00, 0xC000});  // 1, −2
  auto brain = source();
  brain->tensor<uint16_t>("w", kBFloat16, {2}, {0x4040, 0x3F00});  // 3, 0.5
  auto wide = source();
  wide->tensor<double>("w", kFloat64, {2}, {5, 3});
  const std::vector<AverageMember> members = {member("h", half), member("b", brain),
                                              member("w", wide)};
  const AverageSource mean = average(averaging("soup"), members);
  CHECK(same_dtype(mean.info(0).dtype, kFloat32));
  CHECK(values(mean, "w") == Floats{3, 0.5F});
  CHECK(values<uint16_t>(average(averaging("soup"), members, {kBFloat16, {}, 1}), "w") ==
        std::vector<uint16_t>{0x4040, 0x3F00});
}

TEST_CASE("average source: integer and boolean buffers are the last member's",
          "[core][averaging]") {
  auto a = source();
  a->tensor<float>("w", kFloat32, {1}, {1}).tensor<int64_t>("count", kInt64, {2}, {1, 2});
  a->tensor<uint8_t>("mask", kBool, {2}, {0, 1});
  auto b = source();
  b->tensor<uint8_t>("mask", kBool, {2}, {1, 1}).tensor<int64_t>("count", kInt64, {2}, {7, 8});
  b->tensor<float>("w", kFloat32, {1}, {2});
  for (const bool swapped : {false, true}) {
    const AverageSource mean =
        average(averaging("soup"), swapped ? std::vector{member("b", b), member("a", a)}
                                           : std::vector{member("a", a), member("b", b)});
    CHECK(values(mean, "w") == Floats{1.5F});
    CHECK(values<int64_t>(mean, "count") ==
          (swapped ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{7, 8}));
    CHECK(values<uint8_t>(mean, "mask") ==
          (swapped ? std::vector<uint8_t>{0, 1} : std::vector<uint8_t>{1, 1}));
  }
}

TEST_CASE("average source: tensors are tied where all members have them tied",
          "[core][averaging]") {
  auto tied = source();
  tied->tensor<float>("embed", kFloat32, {1}, {1}).tie("head", "embed");
  auto also = source();
  also->tensor<float>("embed", kFloat32, {1}, {3}).tie("head", "embed");
  auto apart = source();
  apart->tensor<float>("embed", kFloat32, {1}, {3}).tensor<float>("head", kFloat32, {1}, {5});
  const AverageSource both = average(averaging("soup"), {member("a", tied), member("b", also)});
  CHECK(both.info(both.index_of("head")).shared_with == both.index_of("embed"));
  CHECK(values(both, "head") == Floats{2});
  const AverageSource one = average(averaging("soup"), {member("a", tied), member("b", apart)});
  CHECK(one.info(one.index_of("head")).shared_with == one.index_of("head"));
  CHECK(values(one, "embed") == Floats{2});
  CHECK(values(one, "head") == Floats{3});
}

TEST_CASE("average source: members that differ are refused with tensor, members and shapes",
          "[core][averaging]") {
  auto a = source();
  a->tensor<float>("w", kFloat32, {2, 1}, {1, 2});
  auto shape = source();
  shape->tensor<float>("w", kFloat32, {1, 2}, {1, 2});
  auto name = source();
  name->tensor<float>("v", kFloat32, {2, 1}, {1, 2});
  auto more = source();
  more->tensor<float>("w", kFloat32, {2, 1}, {1, 2}).tensor<float>("v", kFloat32, {1}, {1});
  auto type = source();
  type->tensor<int32_t>("w", kInt32, {2, 1}, {1, 2});
  const auto refused = [&](const std::shared_ptr<GivenSource>& other) {
    return message_of([&] {
      average(averaging("soup"), {member("step1", a), member("step2", a), member("step3", other)});
    });
  };
  CHECK(refused(shape) == "averaging soup: tensor 'w' is [2, 1] in step1 and [1, 2] in step3");
  CHECK(refused(name) == "averaging soup: tensor 'w' is [2, 1] in step1 and missing in step3");
  CHECK(refused(more) == "averaging soup: tensor 'v' is missing in step1 and [1] in step3");
  CHECK(refused(type) == "averaging soup: tensor 'w' is F32 in step1 and I32 in step3");
  CHECK(message_of([&] {
          average(averaging("linear", {{"weights", {1, 2}}}), {member("x", a)});
        }) == "averaging linear: weights: got 2, wanted one for each of 1 members");
}

TEST_CASE("average source: any range, any thread and any number of them give the same bits",
          "[core][averaging]") {
  constexpr size_t kCount = 300'001;  // more than one task
  std::vector<AverageMember> members;
  for (uint64_t i = 0; i < 3; ++i) {
    members.push_back(vector_member("m" + std::to_string(i), awkward(i, kCount)));
  }
  const AverageSource single = average(averaging("soup"), members);
  const Floats whole = values(single, "w");
  const Floats parallel = values(average(averaging("soup"), members, {kFloat32, {}, 2}), "w");
  CHECK(std::equal(whole.begin(), whole.end(), parallel.begin()));
  Floats part(1000);
  single.read(0, 16'000, part.size(), part.data());
  CHECK(std::equal(part.begin(), part.end(), whole.begin() + 16'000));
  std::vector<Floats> seen(4, Floats(kCount));
  std::vector<std::thread> readers;
  for (Floats& mine : seen) {
    readers.emplace_back([&] { single.read(0, 0, kCount, mine.data()); });
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  for (const Floats& mine : seen) {
    CHECK(std::equal(mine.begin(), mine.end(), whole.begin()));
  }
}

TEST_CASE("average source: the order of a soup's members does not change a bit",
          "[core][averaging]") {
  std::vector<AverageMember> members;
  for (uint64_t i = 0; i < 5; ++i) {
    members.push_back(vector_member("m" + std::to_string(i), awkward(i, 5000)));
  }
  const AverageOptions wide{kFloat64, {}, 1};
  const std::vector<double> sorted = values<double>(average(averaging("soup"), members, wide), "w");
  std::reverse(members.begin(), members.end());
  CHECK(values<double>(average(averaging("soup"), members, wide), "w") == sorted);
  // The sums do depend on it: weights of 1 in the other order differ somewhere.
  const AveragingCell ones = averaging("linear", {{"weights", {1, 1, 1, 1, 1}}});
  CHECK(values<double>(average(ones, members, wide), "w") != sorted);
}

TEST_CASE("average source: a greedy soup keeps what lowers the score", "[core][averaging]") {
  const std::vector<AverageMember> members = {vector_member("a", {4}), vector_member("b", {1}),
                                              vector_member("c", {-9}), vector_member("d", {-2})};
  size_t asked = 0;
  // |w| is the score: b alone 1, then d: |−0.5|, then a: 1, then c: |−10/3|.
  const std::vector<double> weights =
      search_average(built_catalog(), averaging("greedy_soup"), members,
                     [&](const std::shared_ptr<const TensorSource>& tried) {
                       ++asked;
                       return std::fabs(values(*tried, "w")[0]);
                     });
  CHECK(weights == std::vector<double>{0, 0.5, 0, 0.5});
  CHECK(asked == 7);
  CHECK(values(average(averaging("greedy_soup"), members, {kFloat32, weights, 1}), "w") ==
        Floats{-0.5F});
  CHECK(code_of([&] {
          search_average(built_catalog(), averaging("greedy_soup"), members,
                         [](const auto&) -> double { fail(QUENCH_CANCELLED, "stop"); });
        }) == QUENCH_CANCELLED);
  CHECK(message_of([&] {
          search_average(built_catalog(), averaging("greedy_soup"), members,
                         [](const auto&) { return std::nan(""); });
        }) == "averaging greedy_soup: a: the score is nan");
}

TEST_CASE("average identity: it changes with each thing that the bits depend on",
          "[core][averaging]") {
  const std::vector<AverageMember> members = {member("a", nullptr, 1), member("b", nullptr, 2)};
  const std::vector<std::string> hashes = {"h1", "h2"};
  const auto identity = [&](const AveragingCell& cell) {
    return average_identity(cell, members, hashes, kFloat32);
  };
  const std::string base = identity(averaging("soup"));
  CHECK(base.size() == 64);
  CHECK(identity(averaging("soup")) == base);
  std::vector<std::string> seen = {
      base,
      identity(averaging("lawa", {{"window", 2}})),
      identity(averaging("lawa", {{"window", 3}})),
      average_identity(averaging("soup"), members, {"h1", "h3"}, kFloat32),
      average_identity(averaging("soup"), members, {"h2", "h1"}, kFloat32),
      average_identity(averaging("soup"), {members[1], members[0]}, hashes, kFloat32),
      average_identity(averaging("soup"), members, hashes, kBFloat16),
      average_identity(averaging("soup"), members, hashes, kFloat32, {0.5, 0.5})};
  PluginDescription rebuilt = *averaging("soup").plugin;
  rebuilt.code["build_id"] = "another";
  AveragingCell other = averaging("soup");
  other.plugin = &rebuilt;
  seen.push_back(identity(other));
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

}  // namespace quench::test
