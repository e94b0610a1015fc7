#include "core/inputs/corpora/token_cache.hpp"

#include <catch2/catch.hpp>

#include "core/inputs/corpora/corpora.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"

using quench::Corpora;
using quench::TokenCache;
using quench::TokenizedCorpus;
using quench::TokenizerChoice;

namespace fs = std::filesystem;

namespace {

// What is logged while it lives, line by line.
class LogLines {
 public:
  LogLines() {
    quench::HostServices::instance().set_log_sink(
        [this](int, std::string_view, std::string_view line) {
          text_ += std::string(line) + "\n";
        });
  }
  ~LogLines() { quench::HostServices::instance().set_log_sink({}); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

const std::string kKey(64, 'a');

TokenizedCorpus small_corpus() {
  return {"", {1, -2, 3, 1 << 23, 5}, {0, 2, 5}, {7, 9}, std::string(64, 'f')};
}

bool equal(const TokenizedCorpus& a, const TokenizedCorpus& b) {
  return a.ids == b.ids && a.offsets == b.offsets && a.bytes == b.bytes &&
         a.fingerprint == b.fingerprint;
}

// Documents that one run tokenizes of the lines of `path`.
uint64_t tokenized(const fs::path& path, const fs::path& home,
                   const std::string& tokenizer = "bytes", uint64_t documents = 0) {
  Corpora corpora(quench::test::built_catalog(), TokenCache(home));
  TokenizerChoice choice(tokenizer, "");
  const quench::CorpusUse use{
      "lines",
      quench::test::built_catalog().find("corpus", "text"),
      {{"path", path.string()}, {"split", "line"}, {"from", 0}, {"to", nullptr}}};
  const auto corpus = corpora.load(use, choice, documents);
  CHECK(corpus->name == "lines");
  CHECK(corpus->documents() == (documents > 0 ? documents : 3));
  CHECK(corpora.load(use, choice, documents) == corpus);
  return corpora.tokenized_documents();
}

}  // namespace

TEST_CASE("token cache: what is kept is found, under its key alone", "[core][run]") {
  const quench::test::TemporaryDir home;
  TokenCache cache(home.path());
  CHECK_FALSE(cache.find(kKey));
  cache.keep(kKey, small_corpus());
  const auto found = TokenCache(home.path()).find(kKey);
  REQUIRE(found);
  CHECK(equal(*found, small_corpus()));
  CHECK_FALSE(cache.find(std::string(64, 'b')));
  const LogLines log;
  fs::rename(cache.path_of(kKey), cache.path_of(std::string(64, 'b')));
  CHECK_FALSE(cache.find(std::string(64, 'b')));
  CHECK_THAT(log.text(), Catch::Contains("it is not the token file of this key"));
}

TEST_CASE("token cache: a file with any byte changed is not used, and the log says so",
          "[core][run]") {
  const quench::test::TemporaryDir home;
  TokenCache cache(home.path());
  cache.keep(kKey, small_corpus());
  const std::string whole = quench::test::read_file(cache.path_of(kKey));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    home.write("tokens/" + kKey + ".tokens", changed);
    const LogLines log;
    INFO("byte " << at);
    CHECK_FALSE(cache.find(kKey));
    CHECK_THAT(log.text(), Catch::Contains("not used, tokenizing the text again: it"));
  }
}

TEST_CASE("token cache: a file cut anywhere, or too long, is not used", "[core][run]") {
  const quench::test::TemporaryDir home;
  TokenCache cache(home.path());
  cache.keep(kKey, small_corpus());
  const std::string whole = quench::test::read_file(cache.path_of(kKey));
  const LogLines log;
  for (size_t size = 0; size < whole.size(); ++size) {
    home.write("tokens/" + kKey + ".tokens", whole.substr(0, size));
    CHECK_FALSE(cache.find(kKey));
  }
  home.write("tokens/" + kKey + ".tokens", whole + "x");
  CHECK_FALSE(cache.find(kKey));
  // Numbers that would wrap to the right size.
  std::string forged = whole;
  forged[8 + 64 + 64 + 15] = '\x20';
  home.write("tokens/" + kKey + ".tokens", forged);
  CHECK_FALSE(cache.find(kKey));
  CHECK_THAT(log.text(), Catch::Contains("its size differs from its header"));
}

TEST_CASE("token cache: a folder that cannot be written costs one warning and nothing else",
          "[core][run]") {
  const quench::test::TemporaryDir home;
  home.write("tokens", "a file where the folder should be");
  TokenCache cache(home.path());
  const LogLines log;
  cache.keep(kKey, small_corpus());
  cache.keep(kKey, small_corpus());
  CHECK_THAT(log.text(), Catch::StartsWith("cannot keep tokenized text for the next run: "));
  CHECK(std::count(log.text().begin(), log.text().end(), '\n') == 1);
  CHECK_FALSE(cache.find(kKey));
  CHECK(tokenized(home.write("lines.txt", "a\nb\nc\n"), home.path()) == 3);
}

TEST_CASE("corpora: a text is tokenized once for all runs, and again when anything differs",
          "[core][run]") {
  const quench::test::TemporaryDir folder;
  const fs::path home = folder / "home";
  const fs::path lines = folder.write("lines.txt", "ab\nc\nxyz\n");
  CHECK(tokenized(lines, home) == 3);
  CHECK(tokenized(lines, home) == 0);
  CHECK(tokenized(lines, {}) == 3);                // without a cache
  CHECK(tokenized(lines, home, "bytes", 2) == 2);  // another bound
  CHECK(tokenized(lines, home, "bytes", 2) == 0);
  CHECK(tokenized(folder.write("lines.txt", "ab\nd\nxyz\n"), home) == 3);  // another content
  CHECK(tokenized(folder.write("lines.txt", "ab\nc\nxyz\n"), home) == 0);
  const auto model = folder.write(
      "a.model", std::string("\x0a\x09\x0a\x05<unk>\x18\x02", 11) + std::string("\x0a\x03\x0a\x01"
                                                                                "a",
                                                                                5));
  CHECK(tokenized(lines, home, model.string()) == 3);  // another tokenizer
  CHECK(tokenized(lines, home, model.string()) == 0);
}

TEST_CASE("corpora: a damaged file of tokens is replaced by a whole one", "[core][run]") {
  const quench::test::TemporaryDir folder;
  const fs::path home = folder / "home";
  const fs::path lines = folder.write("lines.txt", "ab\nc\nxyz\n");
  CHECK(tokenized(lines, home) == 3);
  for (const fs::directory_entry& entry : fs::directory_iterator(home / "tokens")) {
    fs::resize_file(entry.path(), fs::file_size(entry.path()) - 70);
  }
  {
    const LogLines log;
    CHECK(tokenized(lines, home) == 3);
    CHECK_THAT(log.text(), Catch::Contains("its size differs from its header"));
  }
  CHECK(tokenized(lines, home) == 0);
}
