#include "train/packed_tokens.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/error.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::CorpusPart;
using quench::PackedTokens;
using quench::PartKind;
using quench::TrainingCorpus;
using quench::test::built_catalog;
using quench::test::TemporaryDir;

namespace {

TrainingCorpus corpus_of(const fs::path& file, const std::string& split, CorpusPart part = {}) {
  TrainingCorpus out;
  out.name = "text";
  out.plugin = built_catalog().find("corpus", "text");
  out.parameters = {{"path", file.string()}, {"split", split}, {"from", 0}, {"to", nullptr}};
  out.part = part;
  out.fingerprint =
      quench::CorpusHandle(built_catalog(), *out.plugin, out.parameters).fingerprint();
  return out;
}

PackedTokens pack(const TrainingCorpus& corpus, const TemporaryDir& home,
                  std::optional<int32_t> end = std::nullopt) {
  return PackedTokens::open(built_catalog(), {&corpus, "bytes", "bytes", end}, home.path());
}

std::string text_of(const PackedTokens& tokens) {
  std::vector<int32_t> ids(tokens.size());
  tokens.read(0, ids);
  return {ids.begin(), ids.end()};
}

std::vector<fs::path> packed_folders(const TemporaryDir& home) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(home / "tokens")) {
    out.push_back(entry.path());
  }
  return out;
}

// 2000 lines of different lengths.
std::string many_lines() {
  std::string out;
  for (int i = 0; i < 2000; ++i) {
    out += std::string(static_cast<size_t>(i % 37) + 1, static_cast<char>('a' + i % 26)) +
           std::to_string(i) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("packed tokens: documents follow each other, with their ends", "[train]") {
  const TemporaryDir home;
  const auto file = home.write("t.txt", "ab\ncde\nf\n");
  CHECK(text_of(pack(corpus_of(file, "line"), home)) == "abcdef");
  const PackedTokens ended = pack(corpus_of(file, "line"), home, '.');
  CHECK(text_of(ended) == "ab.cde.f.");
  CHECK(ended.documents() == 3);
  CHECK(ended.largest() == 'f');
}

TEST_CASE("packed tokens: a range is read from anywhere, and nothing behind the end", "[train]") {
  const TemporaryDir home;
  const PackedTokens tokens = pack(corpus_of(home.write("t.txt", "abcdef"), "document"), home);
  std::vector<int32_t> ids(3);
  tokens.read(2, ids);
  CHECK(ids == std::vector<int32_t>{'c', 'd', 'e'});
  CHECK_THROWS_AS(tokens.read(4, ids), quench::Error);
}

TEST_CASE("packed tokens: the same content is packed once, another one anew", "[train]") {
  const TemporaryDir home;
  const auto file = home.write("t.txt", "abc");
  pack(corpus_of(file, "document"), home);
  const auto folders = packed_folders(home);
  REQUIRE(folders.size() == 1);
  const auto written = fs::last_write_time(folders[0] / "index.json");
  pack(corpus_of(home.write("copy.txt", "abc"), "document"), home);
  CHECK(packed_folders(home) == folders);
  CHECK(fs::last_write_time(folders[0] / "index.json") == written);
  home.write("t.txt", "abcd");
  CHECK(text_of(pack(corpus_of(file, "document"), home)) == "abcd");
  CHECK(packed_folders(home).size() == 2);
}

TEST_CASE("packed tokens: a tokenizer that is not the key's packs nothing", "[train]") {
  const TemporaryDir home;
  const TrainingCorpus corpus = corpus_of(home.write("t.txt", "abc"), "document");
  const auto open = [&](const std::string& key) {
    return PackedTokens::open(built_catalog(), {&corpus, "bytes", key, std::nullopt}, home.path());
  };
  CHECK_THROWS_WITH(open("of another file"),
                    "bytes: the tokenizer was replaced before it was read; "
                    "run the command again");
  CHECK(packed_folders(home).empty());
  CHECK(text_of(open("bytes")) == "abc");
}

TEST_CASE("packed tokens: a folder that was cut is packed again", "[train]") {
  const TemporaryDir home;
  const TrainingCorpus corpus = corpus_of(home.write("t.txt", "abcdef"), "document");
  pack(corpus, home);
  fs::resize_file(packed_folders(home)[0] / "000000.ids", 3);
  CHECK(text_of(pack(corpus, home)) == "abcdef");
  std::ofstream(packed_folders(home)[0] / "index.json") << "{";
  CHECK(text_of(pack(corpus, home)) == "abcdef");
}

TEST_CASE("packed tokens: an id that changed is never read, and is told with file and bytes",
          "[train]") {
  const TemporaryDir home;
  const TrainingCorpus corpus = corpus_of(home.write("t.txt", many_lines()), "line");
  const PackedTokens tokens = pack(corpus, home);
  REQUIRE(tokens.size() > 20'000);  // bytes as two bytes each: ten blocks
  const fs::path ids = packed_folders(home)[0] / "000000.ids";
  std::fstream file(ids, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(3 * 4096 + 10);
  file.put('!');
  file.close();
  const PackedTokens changed = pack(corpus, home);  // its size is what it was
  std::vector<int32_t> before(3 * 2048);
  CHECK_NOTHROW(changed.read(0, before));
  for (const uint64_t first : {0, 3 * 2048, 4 * 2048 - 1}) {
    std::vector<int32_t> over(3 * 2048 + 1);
    CHECK_THROWS_WITH(changed.read(first, over),
                      Catch::Contains(ids.string() + ": bytes 12288..16383 have the checksum "));
  }
  CHECK_NOTHROW(changed.read(4 * 2048, before));
}

TEST_CASE("packed tokens: every range is read as it was packed", "[train]") {
  const TemporaryDir home;
  const PackedTokens tokens = pack(corpus_of(home.write("t.txt", many_lines()), "line"), home);
  const std::string whole = text_of(tokens);
  for (const uint64_t first : {0, 1, 2047, 2048, 2049, 5000}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2047}, size_t{2048}, size_t{4097}}) {
      std::vector<int32_t> ids(count);
      tokens.read(first, ids);
      CHECK((std::string(ids.begin(), ids.end()) == whole.substr(first, count)));
    }
  }
}

TEST_CASE("parts: training and held-out text share no document and lose none", "[train]") {
  const TemporaryDir home;
  const auto file = home.write("t.txt", many_lines());
  const PackedTokens all = pack(corpus_of(file, "line"), home);
  const PackedTokens training = pack(corpus_of(file, "line", {PartKind::kTraining, 0.2}), home);
  const PackedTokens held = pack(corpus_of(file, "line", {PartKind::kHeldOut, 0.2}), home);
  CHECK(training.documents() + held.documents() == all.documents());
  CHECK(training.size() + held.size() == all.size());
  CHECK(documents_in_both(training, held) == 0);
  CHECK(documents_in_both(training, all) == training.documents());
  // 2000 documents, each held out with probability 0.2: 400 ± 18.
  CHECK(held.documents() > 320);
  CHECK(held.documents() < 480);
}

TEST_CASE("parts: equal documents are in one part", "[train]") {
  const TemporaryDir home;
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += "line " + std::to_string(i % 20) + "\n";
  }
  const auto file = home.write("t.txt", text);
  const PackedTokens training = pack(corpus_of(file, "line", {PartKind::kTraining, 0.5}), home);
  const PackedTokens held = pack(corpus_of(file, "line", {PartKind::kHeldOut, 0.5}), home);
  CHECK(held.documents() > 0);
  CHECK(training.documents() > 0);
  CHECK(documents_in_both(training, held) == 0);
}

TEST_CASE("parts: one long document has both, cut at the ends of lines", "[train]") {
  const TemporaryDir home;
  std::string text;
  for (int i = 0; text.size() < 60 * quench::kPieceBytes; ++i) {
    text += "line number " + std::to_string(i) + "\n";
  }
  const auto file = home.write("t.txt", text);
  const PackedTokens training = pack(corpus_of(file, "document", {PartKind::kTraining, 0.3}), home);
  const PackedTokens held = pack(corpus_of(file, "document", {PartKind::kHeldOut, 0.3}), home);
  CHECK(training.size() + held.size() == text.size());
  CHECK(held.documents() >= 5);
  CHECK(training.documents() >= 20);
  CHECK(text_of(held).starts_with("line number "));
  CHECK(text_of(held).ends_with("\n"));
}

TEST_CASE("parts: a piece without a line's end is cut between characters", "[train]") {
  const TemporaryDir home;
  std::string text = "x";
  while (text.size() < 3 * quench::kPieceBytes) {
    text += "\xC3\xA9";
  }
  const auto file = home.write("t.txt", text);
  quench::CorpusHandle corpus(built_catalog(), *built_catalog().find("corpus", "text"),
                              corpus_of(file, "document").parameters);
  quench::PartReader reader(corpus, {PartKind::kTraining, 1e-12});
  quench_document document{};
  std::string joined;
  while (reader.next(document)) {
    joined.append(document.text, document.text_bytes);
    CHECK((static_cast<unsigned char>(document.text[0]) & 0xC0) != 0x80);
  }
  CHECK(joined == text);
}
