#include "core/checkpoint/held_source.hpp"

#include <catch2/catch.hpp>

#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "tests/core/inputs/averaging/given_source.hpp"
#include "tests/support/throws.hpp"

using quench::hash_tensors;
using quench::HeldSource;
using quench::kHashBlock;
using quench::test::GivenSource;
using quench::test::message_of;

namespace {

constexpr uint64_t kElements = 2 * kHashBlock + 5;

// "b" has three blocks; "a" comes later and goes first by name.
std::shared_ptr<GivenSource> weights(uint64_t changed = kElements,
                                     std::vector<int64_t> shape = {2}) {
  std::vector<float> values(kElements);
  for (uint64_t i = 0; i < kElements; ++i) {
    values[i] = static_cast<float>(i) + (i == changed ? 0.5F : 0.0F);
  }
  auto out = std::make_shared<GivenSource>("w");
  out->tensor("b", quench::kFloat32, {kElements}, values);
  out->tensor("a", quench::kFloat16, std::move(shape), std::vector<uint16_t>{1, 2});
  return out;
}

std::vector<float> read(const HeldSource& source, uint64_t first, uint64_t elements) {
  std::vector<float> out(elements);
  source.read(0, first, elements, out.data());
  return out;
}

}  // namespace

TEST_CASE("HeldSource: hands out any range of what was hashed", "[core][checkpoint]") {
  const HeldSource held(weights(), hash_tensors(*weights()).blocks);
  for (const auto& [first, elements] : {std::pair<uint64_t, uint64_t>{0, kElements},
                                        {1, 3},
                                        {kHashBlock - 1, 2},
                                        {7, 2 * kHashBlock - 7},
                                        {kElements - 1, 1},
                                        {kHashBlock, kHashBlock}}) {
    CAPTURE(first, elements);
    const std::vector<float> got = read(held, first, elements);
    CHECK(got.front() == static_cast<float>(first));
    CHECK(got.back() == static_cast<float>(first + elements - 1));
  }
  CHECK(held.info(1).name == "a");
  uint16_t second = 0;
  held.read(1, 1, 1, &second);
  CHECK(second == 2);
}

TEST_CASE("HeldSource: refuses a block with any changed bit, by name and checksums",
          "[core][checkpoint]") {
  const std::string blocks = hash_tensors(*weights()).blocks;
  const HeldSource held(weights(kHashBlock + 9), blocks);
  CHECK(read(held, 0, kHashBlock).back() == static_cast<float>(kHashBlock - 1));
  CHECK(read(held, 2 * kHashBlock, 5).size() == 5);
  for (const auto& [first, elements] :
       {std::pair<uint64_t, uint64_t>{0, kElements}, {kHashBlock, 1}, {kHashBlock + 10, 1}}) {
    CAPTURE(first, elements);
    CHECK_THAT(message_of([&] { read(held, first, elements); }),
               Catch::Matchers::StartsWith(
                   "w: tensor 'b', elements from 131072: not the bytes that were hashed for the "
                   "keys (sha256 ") &&
                   Catch::Matchers::Contains("run the command again"));
  }
}

TEST_CASE("HeldSource: refuses other names, types and shapes with the same bytes",
          "[core][checkpoint]") {
  const std::string blocks = hash_tensors(*weights()).blocks;
  CHECK_THAT(message_of([&] {
               HeldSource(weights(kElements, {2, 1}), blocks);
             }),
             Catch::Matchers::StartsWith("w: other tensors than those that were hashed"));
  CHECK_THAT(message_of([&] { HeldSource(weights(), blocks + blocks); }),
             Catch::Matchers::StartsWith("w: other tensors than those that were hashed"));
}

TEST_CASE("hash_tensors: what it reads in pieces has the hashes of the whole",
          "[core][checkpoint]") {
  constexpr uint64_t kMany = 65 * kHashBlock + 5;  // more than is read at once, twice
  std::vector<uint16_t> values(kMany);
  for (uint64_t i = 0; i < kMany; ++i) {
    values[i] = static_cast<uint16_t>(i * 40503);
  }
  auto source = std::make_shared<GivenSource>("w");
  source->tensor("b", quench::kFloat16, {kMany}, values);
  source->tensor("empty", quench::kFloat16, {0}, std::vector<uint16_t>{});
  source->tensor("a", quench::kFloat16, {1}, std::vector<uint16_t>{7});
  quench::ContentHash content(3);
  std::string blocks = fmt::format("{:016x}", quench::header_checksum(*source));
  const std::vector<uint16_t> first = {7};
  content.tensor(source->info(2));
  content.content(first.data(), 2);
  blocks +=
      fmt::format("{:016x}", quench::sha256_head({reinterpret_cast<const char*>(first.data()), 2}));
  content.tensor(source->info(0));
  content.content(values.data(), 2 * kMany);
  for (uint64_t i = 0; i < kMany; i += kHashBlock) {
    const uint64_t count = std::min(kHashBlock, kMany - i);
    blocks += fmt::format(
        "{:016x}",
        quench::sha256_head({reinterpret_cast<const char*>(values.data() + i), 2 * count}));
  }
  content.tensor(source->info(1));
  const quench::TensorHashes got = hash_tensors(*source);
  CHECK(got.content == content.hex_digest());
  CHECK(got.blocks == blocks);
  const std::atomic<bool> stop = true;
  CHECK_THROWS_AS(hash_tensors(*source, &stop), quench::Error);
}
