#include "core/store/equivalences.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/base/json/canonical_json.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::Equivalences;
using quench::test::TemporaryDir;

namespace {

nlohmann::json hash(char digit) {
  return {{"build_id", std::string(40, digit)}};
}

quench::Equivalence adopted(char before, char after) {
  return {"quantizer", "q", hash(before), hash(after), "rebuilt", {{"cells", 3}}};
}

}  // namespace

TEST_CASE("equivalences: unknown builds stand for themselves", "[store]") {
  const TemporaryDir home;
  CHECK(Equivalences(home.path()).canonical_code(hash('a')) == hash('a'));
  CHECK(Equivalences({}).canonical_code(hash('a')) == hash('a'));
}

TEST_CASE("equivalences: a chain of builds has one name, the oldest", "[store]") {
  const TemporaryDir home;
  Equivalences now(home.path());
  now.add(adopted('c', 'b'));
  now.add(adopted('b', 'f'));
  now.add(adopted('7', '8'));
  for (const Equivalences& known : {now, Equivalences(home.path())}) {
    for (const char digit : {'c', 'b', 'f'}) {
      CHECK(known.canonical_code(hash(digit)) == hash('c'));
    }
    CHECK(known.canonical_code(hash('8')) == hash('7'));
    CHECK(known.all().size() == 3);
  }
  CHECK(Equivalences(home.path()).all()[0].reason == "rebuilt");
}

TEST_CASE("equivalences: builds adopted in both directions are one", "[store]") {
  const TemporaryDir home;
  Equivalences known(home.path());
  known.add(adopted('b', 'a'));
  known.add(adopted('a', 'b'));
  CHECK(known.canonical_code(hash('a')) == hash('a'));
  CHECK(known.canonical_code(hash('b')) == hash('a'));
}

TEST_CASE("equivalences: one that does not verify joins nothing", "[store]") {
  const TemporaryDir home;
  Equivalences(home.path()).add(adopted('a', 'b'));
  for (const auto& entry : fs::directory_iterator(home / "equivalences")) {
    std::string content = quench::test::read_file(entry.path());
    content[content.find("bbbb")] = 'c';
    std::ofstream(entry.path()) << content;
  }
  const Equivalences known(home.path());
  CHECK(known.canonical_code(hash('b')) == hash('b'));
  REQUIRE(known.damaged().size() == 1);
  CHECK_THAT(known.damaged()[0], Catch::EndsWith("the checksum does not match"));
}

TEST_CASE("equivalences: what names no build is refused", "[store]") {
  const TemporaryDir home;
  Equivalences known(home.path());
  quench::Equivalence wrong = adopted('a', 'b');
  wrong.old_code = {{"build_id", "a"}};
  wrong.new_code = "latest";
  CHECK(quench::test::message_of([&] { known.add(wrong); }) ==
        "equivalence of quantizer q: {\"build_id\":\"a\"} and \"latest\", wanted two objects of "
        "names");
}

TEST_CASE("equivalences: those of the version before name files by their SHA-256", "[store]") {
  const TemporaryDir home;
  const std::string before(64, 'a');
  const std::string after(64, 'b');
  const std::string body = quench::canonical_json({{"schema", 1},
                                                   {"kind", "quantizer"},
                                                   {"id", "q"},
                                                   {"old", before},
                                                   {"new", after},
                                                   {"reason", "rebuilt"},
                                                   {"evidence", nullptr}});
  fs::create_directory(home / "equivalences");
  std::ofstream(home / "equivalences/1.json") << quench::seal("equivalence", body) << "\n";
  const Equivalences known(home.path());
  CHECK(known.damaged().empty());
  CHECK(known.canonical_code({{"sha256", after}}) == nlohmann::json{{"sha256", before}});
  CHECK(known.canonical_code({{"build_id", after}}) == nlohmann::json{{"build_id", after}});
}

TEST_CASE("equivalences: an assumed one counts and leaves nothing behind", "[store]") {
  const TemporaryDir home;
  Equivalences known(home.path());
  known.assume(adopted('a', 'b'));
  CHECK(known.canonical_code(hash('b')) == hash('a'));
  CHECK(Equivalences(home.path()).all().empty());
}
