#include "core/store/equivalences.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::Equivalences;
using quench::test::TemporaryDir;

namespace {

std::string hash(char digit) {
  return std::string(64, digit);
}

quench::Equivalence adopted(char before, char after) {
  return {"quantizer", "q", hash(before), hash(after), "rebuilt", {{"cells", 3}}};
}

}  // namespace

TEST_CASE("equivalences: unknown builds stand for themselves", "[store]") {
  const TemporaryDir home;
  CHECK(Equivalences(home.path()).canonical_plugin_hash(hash('a')) == hash('a'));
  CHECK(Equivalences({}).canonical_plugin_hash(hash('a')) == hash('a'));
}

TEST_CASE("equivalences: a chain of builds has one hash, the oldest", "[store]") {
  const TemporaryDir home;
  Equivalences now(home.path());
  now.add(adopted('c', 'b'));
  now.add(adopted('b', 'f'));
  now.add(adopted('7', '8'));
  for (const Equivalences& known : {now, Equivalences(home.path())}) {
    for (const char digit : {'c', 'b', 'f'}) {
      CHECK(known.canonical_plugin_hash(hash(digit)) == hash('c'));
    }
    CHECK(known.canonical_plugin_hash(hash('8')) == hash('7'));
    CHECK(known.all().size() == 3);
  }
  CHECK(Equivalences(home.path()).all()[0].reason == "rebuilt");
}

TEST_CASE("equivalences: builds adopted in both directions are one", "[store]") {
  const TemporaryDir home;
  Equivalences known(home.path());
  known.add(adopted('b', 'a'));
  known.add(adopted('a', 'b'));
  CHECK(known.canonical_plugin_hash(hash('a')) == hash('a'));
  CHECK(known.canonical_plugin_hash(hash('b')) == hash('a'));
}

TEST_CASE("equivalences: one that does not verify joins nothing", "[store]") {
  const TemporaryDir home;
  Equivalences(home.path()).add(adopted('a', 'b'));
  for (const auto& entry : fs::directory_iterator(home / "equivalences")) {
    std::string content = quench::test::read_file(entry.path());
    content[content.find("\"new\":\"b") + 7] = 'c';
    std::ofstream(entry.path()) << content;
  }
  const Equivalences known(home.path());
  CHECK(known.canonical_plugin_hash(hash('b')) == hash('b'));
  REQUIRE(known.damaged().size() == 1);
  CHECK_THAT(known.damaged()[0], Catch::EndsWith("the checksum does not match"));
}

TEST_CASE("equivalences: what is no hash is refused", "[store]") {
  const TemporaryDir home;
  Equivalences known(home.path());
  quench::Equivalence wrong = adopted('a', 'b');
  wrong.new_sha256 = "latest";
  CHECK(quench::test::message_of([&] { known.add(wrong); }) ==
        "equivalence of quantizer q: '" + hash('a') + "' and 'latest', wanted two SHA-256 hashes");
}
