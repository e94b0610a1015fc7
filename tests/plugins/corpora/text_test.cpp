#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/support/corpus_reader.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/no_descriptors.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

using namespace quench::test;
using nlohmann::json;
using Texts = std::vector<std::string>;

namespace {

ReadCorpus read(const json& parameters) {
  return read_corpus(plugin_item(CORPORA_DIR "/text.so", "corpus"), parameters);
}

}  // namespace

TEST_CASE("text: a file is one document, byte for byte", "[corpora][text]") {
  const TemporaryDir dir;
  const std::string content("\xef\xbb\xbf one\r\n\r\ntwo\n\0 \u20ac\n", 20);
  const auto path = dir.write("a.txt", content);
  const ReadCorpus corpus = read({{"path", path}});
  CHECK(corpus.message == "");
  CHECK(corpus.texts() == Texts{content});
  CHECK_THAT(logged().back(),
             Catch::EndsWith(path.string() + ": begins with a byte order mark (3 bytes), which is "
                                             "read as text; save it without one"));
}

TEST_CASE("text: a compressed file is no text, and the message says what unpacks it",
          "[corpora][text]") {
  const TemporaryDir dir;
  for (const char* split : {"document", "line"}) {
    const auto path = dir.write("a.txt", std::string("\x1f\x8b\x08\x00", 4));
    CHECK(read({{"path", path}, {"split", split}}).message ==
          path.string() + ": got a file that gzip compressed, wanted plain text: gzip -d FILE");
  }
  const auto path = dir.write("b.txt", std::string("\x28\xb5\x2f\xfd", 4));
  CHECK(read({{"path", path}}).message ==
        path.string() + ": got a file that zstd compressed, wanted plain text: zstd -d FILE");
  CHECK(read({{"path", dir.write("c.txt", "BZh91 is a word")}}).texts() ==
        Texts{"BZh91 is a word"});
}

TEST_CASE("text: splits at lines and at blank lines, which belong to no document",
          "[corpora][text]") {
  const TemporaryDir dir;
  const auto path = dir.write("a.txt", "\none\r\ntwo\n\n\nthree\n \nfour");
  const ReadCorpus lines = read({{"path", path}, {"split", "line"}});
  CHECK(lines.texts() == Texts{"one", "two", "three", " ", "four"});
  CHECK(lines.documents.back().index == 4);
  const ReadCorpus paragraphs = read({{"path", path}, {"split", "blank_line"}});
  CHECK(paragraphs.texts() == Texts{"one\ntwo", "three\n \nfour"});
}

TEST_CASE("text: a byte range is cut out of the file in every split", "[corpora][text]") {
  const TemporaryDir dir;
  const auto path = dir.write("a.txt", "one\ntwo\nthr\u00e9e\n");
  CHECK(read({{"path", path}, {"from", 4}, {"to", 8}}).texts() == Texts{"two\n"});
  CHECK(read({{"path", path}, {"from", 5}, {"split", "line"}}).texts() ==
        Texts{"wo", "thr\u00e9e"});
  CHECK(read({{"path", path}, {"to", 11}}).texts() == Texts{"one\ntwo\nthr"});
}

TEST_CASE("text: of a folder, files whose names fit are documents, in the order of paths",
          "[corpora][text]") {
  const TemporaryDir dir;
  std::filesystem::create_directories(dir / "b/c");
  dir.write("b/c/one.hpp", "one");
  dir.write("b/two.h", "two");
  dir.write("a.hpp", "three");
  dir.write("b/no.txt", "no");
  dir.write("empty.h", "");
  dir.write("latin.h", "caf\xe9");
  const json parameters = {{"path", dir.path()}, {"files", {"*.h", "*.hpp"}}, {"invalid", "skip"}};
  const ReadCorpus corpus = read(parameters);
  CHECK(corpus.message == "");
  CHECK(corpus.texts() == Texts{"three", "one", "two"});
  CHECK(corpus.documents.back().index == 2);
  CHECK(corpus.places == 4);
  CHECK_THAT(
      quench::test::logged().back(),
      Catch::Contains("skipped: ") && Catch::Contains("latin.h: byte 3 is not UTF-8 (0xe9)"));
  CHECK(read({{"path", dir / "latin.h"}, {"invalid", "skip"}})
            .message.ends_with("latin.h: no document: all 1 were skipped"));
  json strict = parameters;
  strict["invalid"] = "refuse";
  CHECK(read(strict).message.find("latin.h: byte 3 is not UTF-8 (0xe9)") != std::string::npos);
  strict["files"] = {"*.py"};
  CHECK(read(strict).message.find("no file below it matches `files`") != std::string::npos);
}

TEST_CASE("text: links in a folder are the files that they lead to", "[corpora][text]") {
  const TemporaryDir elsewhere;
  const TemporaryDir dir;
  const auto two = elsewhere.write("two", "two");
  std::filesystem::create_directory(elsewhere / "more");
  dir.write("a.txt", "one");
  std::filesystem::create_symlink(two, dir / "b.txt");
  std::filesystem::create_symlink("b.txt", dir / "c.txt");
  std::filesystem::create_symlink(elsewhere.write("empty", ""), dir / "d.txt");
  const json parameters = {{"path", dir.path()}, {"files", {"*.txt"}}};
  const ReadCorpus corpus = read(parameters);
  CHECK(corpus.message == "");
  CHECK(corpus.texts() == Texts{"one", "two", "two"});
  elsewhere.write("two", "TWO");
  CHECK(read(parameters).fingerprint != corpus.fingerprint);
  // Whatever is no file is an error where its name fits, and else none of the corpus's business.
  const auto with_link = [&](const std::filesystem::path& target) {
    const auto link = dir / "link.txt";
    std::filesystem::create_symlink(target, link);
    const std::string message = read(parameters).message;
    std::filesystem::rename(link, dir / "link");
    CHECK(read(parameters).message == "");
    std::filesystem::remove(dir / "link");
    return message.starts_with(link.string()) ? message.substr(link.string().size()) : message;
  };
  CHECK(with_link("gone") == ": cannot be read: No such file or directory");
  CHECK(with_link("link.txt") == ": cannot be read: Too many levels of symbolic links");
  REQUIRE(mkfifo((dir / "pipe.txt").c_str(), 0600) == 0);
  CHECK(read(parameters).message == (dir / "pipe.txt").string() + ": got a pipe, wanted a file");
}

TEST_CASE("text: links in a folder are the folders that they lead to", "[corpora][text]") {
  const TemporaryDir elsewhere;
  const TemporaryDir dir;
  elsewhere.write("more/deep/two.txt", "two");
  elsewhere.write("more/three.md", "three");
  dir.write("one.txt", "one");
  std::filesystem::create_directory_symlink(elsewhere / "more", dir / "a");
  for (const std::string& folder : {dir.path().string(), dir.path().string() + "/"}) {
    for (const json& files : {json{"*.txt"}, json{"*"}}) {
      const ReadCorpus corpus = read({{"path", folder}, {"files", files}});
      CHECK(corpus.message == "");
      CHECK(corpus.texts() ==
            (files == json{"*"} ? Texts{"two", "three", "one"} : Texts{"two", "one"}));
    }
    // One that leads back to where it lies, at once or through another, would never end.
    for (const auto& [link, target] :
         {std::pair(elsewhere / "more/back", dir.path()), std::pair(dir / "b", dir.path())}) {
      std::filesystem::create_directory_symlink(target, link);
      CHECK_THAT(
          read({{"path", folder}, {"files", {"*.txt"}}}).message,
          Catch::Contains(": a link back to ") && Catch::Contains("wanted one that leads on"));
      std::filesystem::remove(link);
    }
  }
}

TEST_CASE("text: a want of descriptors is no fault of the file or folder", "[corpora][text]") {
  const TemporaryDir dir;
  const auto path = dir.write("a.txt", "one");
  read({{"path", path}});  // what the library opens for itself
  for (const auto& [given, message] :
       {std::pair(path, ": cannot be read: Too many open files"),
        std::pair(dir.path(), ": cannot be listed: Too many open files")}) {
    ReadCorpus corpus;
    {
      const NoDescriptors none;
      corpus = read({{"path", given}});
    }
    CHECK(corpus.message == given.string() + message);
    CHECK(corpus.status == QUENCH_DATA_LOSS);
  }
}

TEST_CASE("text: a bad file or range is an error that names it", "[corpora][text]") {
  const TemporaryDir dir;
  const std::string good = dir.write("good.txt", "one\u00e9two").string();
  const std::string latin = dir.write("latin.txt", "ok\ncaf\xe9\nok\n").string();
  const std::string empty = dir.write("empty.txt", "").string();
  const std::string blank = dir.write("blank.txt", "\n\r\n\n").string();
  struct Case {
    json parameters;
    quench_status status;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{{"path", empty}}, QUENCH_INVALID_ARGUMENT, empty + ": the file is empty, wanted text"},
      {{{"path", latin}}, QUENCH_INVALID_ARGUMENT, latin + ": byte 6 is not UTF-8 (0xe9)"},
      {{{"path", latin}, {"split", "line"}},
       QUENCH_INVALID_ARGUMENT,
       latin + ": byte 6 is not UTF-8 (0xe9)"},
      {{{"path", blank}, {"split", "line"}},
       QUENCH_INVALID_ARGUMENT,
       blank + ": no document: got blank lines only"},
      {{{"path", good}, {"from", 4}},
       QUENCH_INVALID_ARGUMENT,
       good + ": the range cuts a UTF-8 character at byte 4 (from = 4, to = 8, file: 8 bytes)"},
      {{{"path", good}, {"to", 4}},
       QUENCH_INVALID_ARGUMENT,
       good + ": the range cuts a UTF-8 character at byte 4 (from = 0, to = 4, file: 8 bytes)"},
      {{{"path", good}, {"to", 9}},
       QUENCH_INVALID_ARGUMENT,
       good + ": the range ends beyond the file, at byte 9 (from = 0, to = 9, file: 8 bytes)"},
      {{{"path", good}, {"from", 5}, {"to", 5}},
       QUENCH_INVALID_ARGUMENT,
       good + ": the range is empty at byte 5 (from = 5, to = 5, file: 8 bytes)"},
      {{{"path", dir / "none.txt"}},
       QUENCH_NOT_FOUND,
       (dir / "none.txt").string() + ": cannot be read: No such file or directory"}};
  for (const Case& wanted : cases) {
    const ReadCorpus corpus = read(wanted.parameters);
    CHECK(corpus.message == wanted.message);
    CHECK(corpus.status == wanted.status);
  }
}

TEST_CASE("text: the fingerprint is SHA-256 of the whole file, whatever the range",
          "[corpora][text]") {
  const TemporaryDir dir;
  const auto path = dir.write("abc.txt", "abc");
  // FIPS 180-2, appendix B.1.
  const std::string wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  CHECK(read({{"path", path}}).fingerprint == wanted);
  CHECK(read({{"path", path}, {"from", 1}}).fingerprint == wanted);
}

TEST_CASE("text: tinyshakespeare's validation part is one document of 111,540 bytes",
          "[corpora][text]") {
  const auto path = public_data("text/tinyshakespeare.txt");
  const ReadCorpus corpus = read({{"path", path}, {"from", 1003854}, {"to", 1115394}});
  REQUIRE(corpus.documents.size() == 1);
  CHECK(differences(corpus.documents[0].text, read_file(path).substr(1003854)) == "");
  CHECK(corpus.documents[0].text.size() == 111540);
}
