#include <sys/stat.h>
#include <zlib.h>

#include <catch2/catch.hpp>

#include "tests/support/bounded.hpp"
#include "tests/support/corpus_reader.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

using namespace quench::test;
using nlohmann::json;
using Texts = std::vector<std::string>;

namespace {

ReadCorpus read_jsonl(const json& parameters) {
  return read_corpus(plugin_item(CORPORA_DIR "/jsonl.so", "corpus"), parameters);
}

// One gzip member.
std::string gzip(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string line(const std::string& text) {
  return json{{"text", text}, {"url", "u"}}.dump() + "\n";
}

// 2,000 lines that compress badly enough to fill several input buffers.
std::string many_lines() {
  std::string all;
  uint64_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int c = 0; c < 200; ++c) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += static_cast<char>('a' + (state >> 33) % 26);
    }
    all += line(text);
  }
  return all;
}

}  // namespace

TEST_CASE("jsonl: reads one field of every line, with or without a last line break",
          "[corpora][jsonl]") {
  const TemporaryDir dir;
  const auto path = dir.write("a.jsonl",
                              "{\"text\": \"a\\u00e9\\n\\ud83d\\ude00\"}\r\n\n"
                              "{\"text\": \"\", \"a/b~c\": \"odd key\"}");
  const ReadCorpus corpus = read_jsonl({{"path", path}});
  CHECK(corpus.message == "");
  CHECK(corpus.texts() == Texts{"a\u00e9\n\U0001F600", ""});
  CHECK(corpus.documents[1].index == 1);
  const auto odd = dir.write("b.jsonl", "{\"a/b~c\": \"odd key\"}");
  CHECK(read_jsonl({{"path", odd}, {"field", "a/b~c"}}).texts() == Texts{"odd key"});
}

TEST_CASE("jsonl: yields whole records on request", "[corpora][jsonl]") {
  const TemporaryDir dir;
  const auto path = dir.write("a.jsonl", "{\"q\": 1}\n{\"q\": [2]}\n");
  const ReadCorpus corpus = read_jsonl({{"path", path}, {"records", true}});
  CHECK(corpus.texts() == Texts{"{\"q\": 1}", "{\"q\": [2]}"});
}

TEST_CASE("jsonl: gzip is recognized by its bytes and all its members are read",
          "[corpora][jsonl]") {
  const TemporaryDir dir;
  const std::string half = line("one") + "{\"text\": \"tw";
  const std::string rest = "o\"}\n" + line("three");
  const auto path = dir.write("no_gz_in_the_name", gzip(half) + gzip("") + gzip(rest));
  const ReadCorpus corpus = read_jsonl({{"path", path}});
  CHECK(corpus.message == "");
  CHECK(corpus.texts() == Texts{"one", "two", "three"});
  const auto large = dir.write("large.gz", gzip(many_lines()) + gzip(many_lines()));
  CHECK(read_jsonl({{"path", large}}).documents.size() == 4000);
}

TEST_CASE("jsonl: a broken gzip file is an error, never fewer documents, even with on_error: skip",
          "[corpora][jsonl]") {
  const TemporaryDir dir;
  const std::string whole = gzip(many_lines());
  std::string bad_crc = whole;
  bad_crc[bad_crc.size() - 8] ^= 1;
  std::string bad_length = whole;
  bad_length[bad_length.size() - 4] ^= 1;
  std::string bad_data = whole;
  bad_data[10] = '\x07';  // a deflate block of the reserved type 3
  struct Case {
    std::string bytes;
    std::string message;
  };
  const auto at = [](size_t byte) { return std::to_string(byte); };
  const std::vector<Case> cases = {
      {whole.substr(0, whole.size() / 2),
       "gzip: truncated at byte " + at(whole.size() / 2) + ", inside a member"},
      {whole.substr(0, whole.size() - 3),
       "gzip: truncated at byte " + at(whole.size() - 3) + ", inside a member"},
      {whole.substr(0, 12), "gzip: truncated at byte 12, inside a member"},
      {whole + whole.substr(0, 5),
       "gzip: truncated at byte " + at(whole.size() + 5) + ", inside a member"},
      {bad_crc, "gzip: incorrect data check near byte " + at(whole.size() - 4)},
      {bad_length, "gzip: incorrect length check near byte " + at(whole.size())},
      {bad_data, "gzip: invalid block type near byte 11"},
      {whole + "garbage", "gzip: garbage after the last member, at byte " + at(whole.size())},
      {whole + '\0', "gzip: garbage after the last member, at byte " + at(whole.size())}};
  for (const Case& wanted : cases) {
    const auto path = dir.write("a.gz", wanted.bytes);
    for (const char* on_error : {"stop", "skip"}) {
      const ReadCorpus corpus = read_jsonl({{"path", path}, {"on_error", on_error}});
      CHECK(corpus.message == path.string() + ": " + wanted.message);
      CHECK(corpus.status == QUENCH_DATA_LOSS);
    }
  }
}

TEST_CASE("jsonl: a bad line is an error with file and line, or skipped and counted",
          "[corpora][jsonl]") {
  const TemporaryDir dir;
  struct Case {
    std::string line;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"{\"url\": \"u\"}", "field `text` is missing"},
      {"{\"text\": null}", "field `text`: got null, wanted a string"},
      {"{\"text\": 12}", "field `text`: got a number, wanted a string"},
      {"{\"text\": 1.5}", "field `text`: got a number, wanted a string"},
      {"{\"text\": true}", "field `text`: got a boolean, wanted a string"},
      {"{\"text\": [\"a\"]}", "field `text`: got an array, wanted a string"},
      {"{\"text\": {}}", "field `text`: got an object, wanted a string"},
      {"[\"text\"]", "got an array, wanted an object"},
      {"\"text\"", "got a string, wanted an object"},
      {"{\"text\": \"" + std::string(200, 'x') + "\"}",
       "the line is longer than line_limit = 100 bytes"},
      {"{\"text\": \"a\\q\"}", "not JSON at character "},     // no such escape
      {"{\"text\": \"\\ud800\"}", "not JSON at character "},  // half a surrogate pair
      {"{\"text\": \"caf\xe9\"}", "not JSON at character "},  // Latin-1
      {"{\"text\": \"a\"", "not JSON at character "},
      {"{\"text\": \"a\"} {}", "not JSON at character "},
      {"{\"text\": \"a\", \"text\": \"b\"}", "not JSON at character "},
      {"text", "not JSON at character "}};
  for (const Case& wanted : cases) {
    const auto path = dir.write("a.jsonl", line("one") + "\n" + wanted.line + "\n" + line("two"));
    const std::string where = path.string() + ":3: ";
    const ReadCorpus stopped = read_jsonl({{"path", path}, {"line_limit", 100}});
    CHECK(stopped.status == QUENCH_INVALID_ARGUMENT);
    if (wanted.message == "not JSON at character ") {  // the rest is the host's parser's
      CHECK_THAT(stopped.message, Catch::StartsWith(where + wanted.message));
    } else {
      CHECK(stopped.message == where + wanted.message);
    }
    const ReadCorpus skipped =
        read_jsonl({{"path", path}, {"line_limit", 100}, {"on_error", "skip"}});
    CHECK(skipped.message == "");
    CHECK(skipped.texts() == Texts{"one", "two"});
    CHECK(skipped.documents.back().index == 2);
    CHECK(skipped.places == 3);
    CHECK_THAT(logged().back(), Catch::StartsWith("skipped: " + where));
  }
}

TEST_CASE("jsonl: a file without a single document is an error", "[corpora][jsonl]") {
  const TemporaryDir dir;
  const auto empty = dir.write("empty.jsonl", "");
  CHECK(read_jsonl({{"path", empty}}).message ==
        empty.string() + ": no document: got 0 lines, 0 of them skipped");
  const auto gz = dir.write("empty.gz", gzip(""));
  CHECK(read_jsonl({{"path", gz}}).message ==
        gz.string() + ": no document: got 0 lines, 0 of them skipped");
  const auto bad = dir.write("bad.jsonl", "x\ny\n");
  CHECK(read_jsonl({{"path", bad}, {"on_error", "skip"}}).message ==
        bad.string() + ": no document: got 2 lines, 2 of them skipped");
}

TEST_CASE("jsonl: one endless line costs no more memory than the limit", "[corpora][jsonl]") {
  const TemporaryDir dir;
  const auto path = dir.write("bomb.gz", gzip(std::string(1 << 26, ' ') + line("after")));
  const ReadCorpus corpus =
      read_jsonl({{"path", path}, {"line_limit", 1000}, {"on_error", "skip"}});
  CHECK(corpus.message == path.string() + ": no document: got 1 lines, 1 of them skipped");
}

TEST_CASE("jsonl: gzip that unfolds to one line of gigabytes is refused at once",
          "[corpora][jsonl]") {
  const TemporaryDir dir;
  // 4 GiB of "x" as 64 members of 64 MiB.
  const std::string member = gzip(std::string(1 << 26, 'x'));
  std::string bomb;
  for (int i = 0; i < 64; ++i) {
    bomb += member;
  }
  const auto path = dir.write("bomb.gz", bomb);
  const auto refusal = [&](const char* on_error) {
    return message_within(200, [&] {
      throw std::runtime_error(read_jsonl({{"path", path}, {"on_error", on_error}}).message);
    });
  };
  CHECK(refusal("stop") ==
        path.string() + ":1: the line is longer than line_limit = 67108864 bytes");
  CHECK(refusal("skip") ==
        path.string() +
            ":1: the line is more than 256 MiB longer than line_limit = 67108864 bytes, too long "
            "to skip");
}

TEST_CASE("jsonl: a pipe is refused and not waited for", "[corpora][jsonl]") {
  const TemporaryDir dir;
  const auto path = dir.path() / "pipe";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_jsonl({{"path", path}}).message == path.string() + ": got a pipe, wanted a file");
}

TEST_CASE("jsonl: what other programs compressed is refused by name, also with on_error: skip",
          "[corpora][jsonl]") {
  const TemporaryDir dir;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {std::string("\x28\xb5\x2f\xfd\x04\x00\x49\x00", 8), "zstd"},
      {std::string("\xfd"
                   "7zXZ\x00\x00\x04",
                   8),
       "xz"},
      {"BZh91AY&SY\x19\x31", "bzip2"}};
  for (const auto& [bytes, program] : cases) {
    const auto path = dir.write("a.jsonl", bytes);  // whatever its name
    CHECK(read_jsonl({{"path", path}, {"on_error", "skip"}}).message ==
          path.string() + ": got a file that " + program +
              " compressed, wanted plain lines or gzip: " + program + " -d FILE");
  }
  CHECK(read_jsonl({{"path", dir.write("b.jsonl", line("BZh9"))}}).texts() == Texts{"BZh9"});
}
