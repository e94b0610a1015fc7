#include "core/inputs/corpora/corpora.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/base/io/sha256.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::Calibration;
using quench::Corpora;
using quench::Packing;
using quench::TokenizerChoice;
using quench::test::message_of;

namespace {

// The lines of `text` as documents.
quench::CorpusUse lines(const quench::test::TemporaryDir& folder, const std::string& text) {
  return {"lines",
          quench::test::built_catalog().find("corpus", "text"),
          {{"path", folder.write("lines.txt", text).string()},
           {"split", "line"},
           {"from", 0},
           {"to", nullptr}}};
}

Calibration calibration(const quench::CorpusUse& corpus) {
  Calibration out;
  out.name = "small";
  out.corpus = corpus;
  return out;
}

// The rows as text, each ended by "|".
std::string rows_of(const quench::CalibrationRows& rows) {
  std::string out;
  for (size_t r = 0; r + 1 < rows.starts.size(); ++r) {
    for (uint64_t i = rows.starts[r]; i < rows.starts[r + 1]; ++i) {
      out += static_cast<char>(rows.ids[i]);
    }
    out += "|";
  }
  return out;
}

}  // namespace

TEST_CASE("corpora: documents are tokenized in order, with their sizes", "[core][run]") {
  const quench::test::TemporaryDir folder;
  Corpora corpora(quench::test::built_catalog());
  TokenizerChoice bytes("bytes", "");
  const quench::CorpusUse use = lines(folder, "ab\nc\xC3\xA9\nxyz\n");
  const auto corpus = corpora.load(use, bytes);
  CHECK(corpus->documents() == 3);
  CHECK(corpus->offsets == std::vector<uint64_t>{0, 2, 5, 8});
  CHECK(corpus->ids == std::vector<int32_t>{'a', 'b', 'c', 0xC3, 0xA9, 'x', 'y', 'z'});
  CHECK(corpus->bytes == std::vector<uint64_t>{2, 3, 3});
  CHECK(corpus->fingerprint.size() == 64);
  CHECK(corpora.load(use, bytes) == corpus);  // kept
  CHECK(corpora.load(use, bytes, 2)->documents() == 2);
  const quench_tokens view = quench::tokens_view("corpus", *corpus);
  CHECK(view.documents == 3);
  CHECK(view.offsets[3] == 8);
}

TEST_CASE("corpora: documents that are skipped are counted, with cached ids too, and said once",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::CorpusUse use = lines(folder, "ab\ncaf\xe9\nxyz\n\xff\n");
  use.parameters["invalid"] = "skip";
  for (int run = 0; run < 2; ++run) {
    std::vector<std::string> said;
    quench::HostServices::instance().set_log_sink(
        [&](int, std::string_view, std::string_view line) {
          if (line.starts_with("corpus lines")) {
            said.emplace_back(line);
          }
        });
    Corpora corpora(quench::test::built_catalog(), quench::TokenCache(folder / "home"));
    TokenizerChoice bytes("bytes", "");
    CHECK(corpora.skipped("lines") == 0);
    CHECK(corpora.load(use, bytes)->skipped == 2);
    CHECK(corpora.load(use, bytes, 1)->skipped == 0);
    CHECK(corpora.skipped("lines") == 2);
    CHECK(corpora.tokenized_documents() == (run == 0 ? 3 : 0));
    CHECK(said == std::vector<std::string>{
                      "corpus lines: 2 of 4 documents were skipped, as its parameters say"});
    quench::HostServices::instance().set_log_sink({});
  }
}

TEST_CASE("corpora: content that is not the keys' is refused, and nothing of it is kept",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  quench::Catalog& catalog = quench::test::built_catalog();
  const quench::CorpusUse use = lines(folder, "ab\n");
  const std::string before = quench::sha256_hex("ab\n");
  Corpora corpora(catalog, quench::TokenCache(folder / "home"), {},
                  [&](const quench::CorpusUse&) { return before; });
  TokenizerChoice bytes("bytes", "");
  folder.write("lines.txt", "xy\n");
  const auto load = [&] { corpora.load(use, bytes); };
  CHECK(message_of(load, folder.path()) ==
        "corpus lines: lines.txt: changed before it was read to its end (sha256 " +
            before.substr(0, 12) + " before, " + quench::sha256_hex("xy\n").substr(0, 12) +
            " now); run the command again");
  CHECK_FALSE(std::filesystem::exists(folder / "home/tokens"));
  folder.write("lines.txt", "ab\n");
  CHECK(corpora.load(use, bytes)->ids == std::vector<int32_t>{'a', 'b'});
  folder.write("lines.txt", "xy\n");  // the tokens that are kept are those of the keys
  CHECK(Corpora(catalog, quench::TokenCache(folder / "home"), {},
                [&](const quench::CorpusUse&) { return before; })
            .load(use, bytes)
            ->ids == std::vector<int32_t>{'a', 'b'});
}

TEST_CASE("corpora: a file that another one replaced for a moment, while it was read, is refused",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  const quench::CorpusUse use = lines(folder, "ab\n");
  quench::HeldCorpus held(quench::test::built_catalog(), use, {}, quench::sha256_hex("ab\n"));
  CHECK(held.check() == quench::sha256_hex("ab\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a tick of the file system's clock
  std::filesystem::rename(folder / "lines.txt", folder / "aside");
  folder.write("lines.txt", "xy\n");
  std::filesystem::rename(folder / "aside", folder / "lines.txt");
  CHECK_THAT(message_of([&] { held.check(); }, folder.path()),
             Catch::Matchers::StartsWith("corpus lines: lines.txt: changed while it was read "));
}

TEST_CASE("corpora: text without a tokenizer is refused with the reason given", "[core][run]") {
  const quench::test::TemporaryDir folder;
  Corpora corpora(quench::test::built_catalog());
  TokenizerChoice none(std::nullopt, "there is no tokenizer");
  CHECK_THAT(message_of([&] { corpora.load(lines(folder, "ab\n"), none); }),
             Catch::Contains("there is no tokenizer"));
}

TEST_CASE("calibration: concat joins documents and cuts equal sequences", "[core][run]") {
  const quench::test::TemporaryDir folder;
  Corpora corpora(quench::test::built_catalog());
  TokenizerChoice bytes("bytes", "");
  Calibration asked = calibration(lines(folder, "abcd\nef\nghi\njkl\n"));
  asked.packing = Packing::kConcat;
  asked.sequences = 2;
  asked.length = 5;
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 5)) == "abcde|fghij|");
  asked.documents = 2;  // only the first two
  asked.sequences = 3;
  asked.length = 2;
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 5)) == "ab|cd|ef|");
  asked.sequences = 4;
  CHECK(message_of([&] { corpora.calibration_rows(asked, bytes, 5); }) ==
        "calibration small: 4 sequences of 2 ids need 8 ids, the corpus has 6");
}

TEST_CASE("calibration: without packing a document is a row", "[core][run]") {
  const quench::test::TemporaryDir folder;
  Corpora corpora(quench::test::built_catalog());
  TokenizerChoice bytes("bytes", "");
  Calibration asked = calibration(lines(folder, "abcd\nef\nghi\n"));
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 9)) == "abcd|ef|ghi|");
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 3)) == "abc|ef|ghi|");  // model's positions
  asked.length = 2;
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 9)) == "ab|ef|gh|");
  asked.length = 8;
  CHECK(message_of([&] { corpora.calibration_rows(asked, bytes, 3); }) ==
        "calibration small: `length`: got 8 ids, wanted at most 3, the context of the model");
  asked.documents = 2;
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 9)) == "abcd|ef|");
  asked.documents = 4;
  CHECK(message_of([&] { corpora.calibration_rows(asked, bytes, 9); }) ==
        "calibration small: wanted 4 documents, the corpus has 3");
}

TEST_CASE("calibration: pads that count fill each batch up to its longest", "[core][run]") {
  const quench::test::TemporaryDir folder;
  Corpora corpora(quench::test::built_catalog());
  TokenizerChoice bytes("bytes", "");
  Calibration asked = calibration(lines(folder, "abcd\nef\n\nghi\nj\nkl\n"));
  CHECK(corpora.calibration_rows(asked, bytes, 9).texts.empty());
  asked.pad_batch = 2;
  asked.pad_id = '.';
  const quench::CalibrationRows rows = corpora.calibration_rows(asked, bytes, 9);
  CHECK(rows_of(rows) == "abcd|ef..|ghi|j..|kl|");  // the empty document is no part of a batch
  CHECK(rows.texts == std::vector<uint64_t>{4, 2, 3, 1, 2});
  CHECK(rows.pads() == 4);
  const quench::CalibrationRows cut = corpora.calibration_rows(asked, bytes, 3);
  CHECK(rows_of(cut) == "abc|ef.|ghi|j..|kl|");
  const quench::CalibrationRows moved = corpora.calibration_rows(asked, bytes, 9, {0, 1, 1, 7});
  for (size_t r = 0; r + 1 < moved.starts.size(); ++r) {  // a row keeps its own pads
    const auto at = moved.ids.begin() + static_cast<ptrdiff_t>(moved.starts[r]);
    CHECK(std::count(at, at + static_cast<ptrdiff_t>(moved.starts[r + 1] - moved.starts[r]), '.') ==
          static_cast<ptrdiff_t>(moved.starts[r + 1] - moved.starts[r] - moved.texts[r]));
  }
}

TEST_CASE("calibration: a document without ids gives no row", "[core][run]") {
  const quench::test::TemporaryDir folder;
  Corpora corpora(quench::test::built_catalog());
  TokenizerChoice bytes("bytes", "");
  Calibration asked = calibration(lines(folder, "\n\nab\n\nc\n"));
  CHECK(rows_of(corpora.calibration_rows(asked, bytes, 9)) == "ab|c|");
  Corpora afresh(quench::test::built_catalog());
  asked = calibration(lines(folder, "\n\n"));
  CHECK_THAT(message_of([&] { afresh.calibration_rows(asked, bytes, 9); }),
             Catch::Contains("no document"));
}
