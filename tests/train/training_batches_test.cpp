#include "train/training_batches.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core/error.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::IdBatch;
using quench::PackedTokens;
using quench::TrainingBatches;
using quench::TrainingCorpus;
using quench::test::built_catalog;
using quench::test::TemporaryDir;

namespace {

PackedTokens packed(const TemporaryDir& home, const std::string& text) {
  TrainingCorpus corpus;
  corpus.name = "text";
  corpus.plugin = built_catalog().find("corpus", "text");
  corpus.parameters = {{"path", home.write("t.txt", text).string()},
                       {"split", "document"},
                       {"from", 0},
                       {"to", nullptr}};
  corpus.fingerprint =
      quench::CorpusHandle(built_catalog(), *corpus.plugin, corpus.parameters).fingerprint();
  return PackedTokens::open(built_catalog(), {&corpus, "bytes", "bytes", {}}, home.path());
}

std::string text_of(const std::vector<int32_t>& ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace

TEST_CASE("training batches: targets are the inputs one id further on", "[train]") {
  const TemporaryDir home;
  const PackedTokens tokens = packed(home, "abcdefghij");
  const TrainingBatches batches(tokens, "text", 3);
  CHECK(batches.sequences() == 3);
  const IdBatch batch = batches.in_order(0, 3);
  CHECK(text_of(batch.inputs) == "abcdefghi");
  CHECK(text_of(batch.targets) == "bcdefghij");
}

TEST_CASE("training batches: an epoch sees every sequence once, the next in another order",
          "[train]") {
  const TemporaryDir home;
  std::string text;
  for (int i = 0; i < 101; ++i) {
    text += static_cast<char>(' ' + i % 90);
  }
  const PackedTokens tokens = packed(home, text);
  const TrainingBatches batches(tokens, "text", 2);
  REQUIRE(batches.sequences() == 50);
  std::set<std::pair<int32_t, int32_t>> seen;
  const IdBatch first = batches.shuffled(5, 0, 50);
  const IdBatch second = batches.shuffled(5, 50, 50);
  CHECK(first.inputs != second.inputs);
  auto sorted = first.inputs;
  auto again = second.inputs;
  std::sort(sorted.begin(), sorted.end());
  std::sort(again.begin(), again.end());
  CHECK(sorted == again);
  CHECK(batches.shuffled(6, 0, 50).inputs != first.inputs);
}

TEST_CASE("training batches: a sequence does not depend on the ones read with it", "[train]") {
  const TemporaryDir home;
  const PackedTokens tokens = packed(home, std::string(500, 'x') + std::string(500, 'y'));
  const TrainingBatches batches(tokens, "text", 7);
  const IdBatch together = batches.shuffled(3, 130, 20);  // over the end of an epoch
  std::vector<int32_t> apart;
  for (uint64_t i = 130; i < 150; ++i) {
    const IdBatch one = batches.shuffled(3, i, 1);
    apart.insert(apart.end(), one.inputs.begin(), one.inputs.end());
  }
  CHECK(together.inputs == apart);
}

TEST_CASE("training batches: a corpus without a whole sequence is refused", "[train]") {
  const TemporaryDir home;
  const PackedTokens tokens = packed(home, "abc");
  CHECK(quench::test::message_of([&] { TrainingBatches(tokens, "text", 3); }) ==
        "corpus text: has 3 ids, wanted at least 4 for one sequence");
}
