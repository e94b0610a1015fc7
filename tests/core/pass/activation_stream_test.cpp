#include "core/pass/activation_stream.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::plan_micro_batches;

namespace {

// Row boundaries of rows of these lengths.
std::vector<uint64_t> starts_of(const std::vector<uint64_t>& lengths) {
  std::vector<uint64_t> starts = {0};
  for (const uint64_t length : lengths) {
    starts.push_back(starts.back() + length);
  }
  return starts;
}

// "rows x length" of each batch with the rows' indices: "0,2x5 1x7".
std::string plan(const std::vector<uint64_t>& lengths) {
  const std::vector<uint64_t> starts = starts_of(lengths);
  std::string out;
  for (const quench::MicroBatch& batch : plan_micro_batches(starts)) {
    out += out.empty() ? "" : " ";
    for (size_t i = 0; i < batch.rows.size(); ++i) {
      out += (i > 0 ? "," : "") + std::to_string(batch.rows[i]);
    }
    out += "x" + std::to_string(batch.length);
  }
  return out;
}

}  // namespace

TEST_CASE("micro-batches: rows of one length go together, short ones first", "[core][run]") {
  CHECK(plan({}).empty());
  CHECK(plan({7}) == "0x7");
  CHECK(plan({7, 5, 7, 5}) == "1,3x5 0,2x7");
  CHECK(plan({3, 0, 3}) == "0,2x3");  // an empty row has nothing to compute
  CHECK(plan({0, 0}).empty());
}

TEST_CASE("micro-batches: a batch has at most 2048 tokens, but at least one row", "[core][run]") {
  CHECK(plan({1024, 1024, 1024}) == "0,1x1024 2x1024");
  CHECK(plan({2048, 2048}) == "0x2048 1x2048");
  CHECK(plan({1025, 1025}) == "0x1025 1x1025");
  CHECK(plan({5000}) == "0x5000");
  const auto batches = plan_micro_batches(starts_of(std::vector<uint64_t>(450, 128)));
  REQUIRE(batches.size() == 29);
  for (size_t b = 0; b < 28; ++b) {
    CHECK(batches[b].rows.size() == 16);
    CHECK(batches[b].rows.front() == 16 * b);
  }
  CHECK(batches[28].rows == std::vector<uint64_t>{448, 449});
}

TEST_CASE("activation stream: a row's residual stream does not depend on its batch",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::OpenCheckpoint checkpoint = quench::test::open_template_checkpoint(folder / "model");
  const std::vector<int32_t> ids = {5, 6, 7, 8, 9, 200, 201, 202, 5, 6, 7, 8};
  const std::vector<uint64_t> all = {0, 4, 8, 12};
  quench::ActivationStream together(checkpoint.model, ids, all);
  REQUIRE(together.batches().size() == 1);
  together.forward(0);
  REQUIRE(together.carried(0).size() == 1);
  const quench_tensor h = together.carried(0)[0];
  CHECK(h.shape[0] == 12);
  CHECK(h.shape[1] == 32);
  const auto* values = static_cast<const float*>(h.data);
  CHECK(std::memcmp(values, values + 8 * 32, 4 * 32 * sizeof(float)) == 0);  // rows 0 and 2
  const std::vector<uint64_t> one = {0, 4};
  quench::ActivationStream alone(checkpoint.model, std::vector<int32_t>{9, 200, 201, 202}, one);
  alone.forward(0);
  CHECK(std::memcmp(values + 4 * 32, alone.carried(0)[0].data, 4 * 32 * sizeof(float)) == 0);
  together.release(0);
  CHECK(together.carried(0).empty());
}

namespace {

// Three micro-batches, of 2, 3 and 4 tokens a row.
struct ThreeBatches {
  std::vector<int32_t> ids = {5, 6, 7, 8, 9, 200, 201, 202, 5};
  std::vector<uint64_t> starts = {0, 2, 5, 9};
};

std::vector<float> carried_values(quench::ActivationStream& stream, size_t batch) {
  std::vector<float> out;
  for (const quench_tensor& tensor : stream.carried(batch)) {
    const auto* data = static_cast<const float*>(tensor.data);
    out.insert(out.end(), data, data + tensor.shape[0] * tensor.shape[1]);
  }
  return out;
}

}  // namespace

TEST_CASE("activation stream: batches that rest give the same bits, and one is there at a time",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::OpenCheckpoint checkpoint = quench::test::open_template_checkpoint(folder / "model");
  const ThreeBatches rows;
  quench::ActivationStream plain(checkpoint.model, rows.ids, rows.starts);
  quench::ActivationStream resting(checkpoint.model, rows.ids, rows.starts);
  REQUIRE(resting.batches().size() == 3);
  for (size_t b = 0; b < 3; ++b) {
    plain.embed(b);
    resting.embed(b);
  }
  CHECK(resting.device_bytes() == 9 * 32 * sizeof(float));
  resting.rest();
  CHECK(resting.device_bytes() == 0);
  const uint32_t stages = checkpoint.model.block(0).stage_count;
  REQUIRE(stages == 2);
  plain.keep();
  resting.keep();
  for (uint32_t stage = 0; stage < stages; ++stage) {
    CAPTURE(stage);
    for (size_t b = 0; b < 3; ++b) {
      CAPTURE(b);
      plain.stage(b, 0, stage);
      resting.stage(b, 0, stage);
      CHECK(resting.device_bytes() == carried_values(plain, b).size() * sizeof(float));
      CHECK(carried_values(resting, b) == carried_values(plain, b));
    }
  }
  for (const bool kept : {true, false}) {
    CAPTURE(kept);
    const auto again = resting.replay(1, kept ? 0 : 1, 0, stages, kept);
    const auto wanted = plain.replay(1, kept ? 0 : 1, 0, stages, kept);
    const quench_tensor a = again.at(0).tensor.view();
    const quench_tensor b = wanted.at(0).tensor.view();
    CHECK(std::memcmp(a.data, b.data, 3 * 32 * sizeof(float)) == 0);
  }
  plain.rewind();
  resting.rewind();
  for (const size_t b : {2U, 0U, 1U}) {
    CAPTURE(b);
    CHECK(carried_values(resting, b) == carried_values(plain, b));
    CHECK(resting.device_bytes() == carried_values(plain, b).size() * sizeof(float));
  }
}

TEST_CASE("activation stream: a row longer than the model's positions is refused", "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::OpenCheckpoint checkpoint = quench::test::open_template_checkpoint(folder / "model");
  const std::vector<int32_t> ids(4097, 1);
  const std::vector<uint64_t> starts = {0, 4097};
  CHECK(
      quench::test::message_of([&] { quench::ActivationStream(checkpoint.model, ids, starts); }) ==
      "model template_model: a sequence of 4097 tokens, more than the 4096 positions of "
      "its config; wanted a smaller `block` or `length`");
}

TEST_CASE("activation stream: ids of another model's tokenizer are refused", "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::OpenCheckpoint checkpoint = quench::test::open_template_checkpoint(folder / "model");
  const std::vector<uint64_t> starts = {0, 3};
  for (const int32_t foreign : {256, 1577, -1}) {
    const std::vector<int32_t> ids = {255, 0, foreign};
    CHECK(quench::test::message_of([&] {
            quench::ActivationStream(checkpoint.model, ids, starts);
          }) == "model template_model: got the token id " + std::to_string(foreign) +
                    ", wanted 0..255: the tokenizer, or the file of ids, is that of another model");
  }
}
