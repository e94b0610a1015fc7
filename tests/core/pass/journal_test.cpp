#include "core/pass/journal.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/temporary.hpp"

using quench::Journal;

TEST_CASE("A journal has after a restart what was put before, bit for bit", "[journal]") {
  const quench::test::TemporaryDir folder;
  {
    Journal journal(folder / "partial", "key");
    CHECK_FALSE(journal.get(0));
    journal.put(0, 0.1);
    journal.put(7, std::nan(""));
    journal.put(0, 1.0 / 3);  // the later value counts
  }
  Journal journal(folder / "partial", "key");
  CHECK(journal.get(0) == 1.0 / 3);
  REQUIRE(journal.get(7));
  CHECK(std::isnan(*journal.get(7)));
  CHECK_FALSE(journal.get(1));
  CHECK_FALSE(Journal(folder / "partial", "other").get(0));
}

TEST_CASE("A journal overlooks lines that are torn or changed", "[journal]") {
  const quench::test::TemporaryDir folder;
  { Journal(folder.path(), "key").put(0, 2.5); }
  const std::string whole = quench::test::read_file(folder / "key.jsonl");
  for (const size_t length : {whole.size() / 2, whole.size() - 3}) {
    (void)folder.write("key.jsonl", whole.substr(0, length));
    Journal torn(folder.path(), "key");
    CHECK_FALSE(torn.get(0));
    torn.put(1, 4.0);  // must not be swallowed by the torn line before it
    CHECK(Journal(folder.path(), "key").get(1) == 4.0);
  }
  std::string changed = whole;
  changed[whole.find("[0,") + 1] = '3';
  (void)folder.write("key.jsonl", changed);
  CHECK_FALSE(Journal(folder.path(), "key").get(3));
}

TEST_CASE("A journal that is forgotten leaves no file", "[journal]") {
  const quench::test::TemporaryDir folder;
  Journal journal(folder.path(), "key");
  journal.put(0, 1.0);
  journal.forget();
  CHECK_FALSE(std::filesystem::exists(folder / "key.jsonl"));
  CHECK_FALSE(journal.get(0));
}

TEST_CASE("A journal that cannot be written does not disturb", "[journal]") {
  const quench::test::TemporaryDir folder;
  (void)folder.write("file", "");
  Journal journal(folder / "file", "key");  // a file where the folder should be
  journal.put(0, 1.0);
  CHECK(journal.get(0) == 1.0);
}
