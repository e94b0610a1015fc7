#include "tests/run/manifest/wrong_manifests.hpp"

#include <catch2/catch.hpp>
#include <set>

using quench::test::ManifestFolder;
using quench::test::WrongManifest;

// Among them 10^9 points, combinations and cells: to make them before counting would take hours.
TEST_CASE("wrong manifests: each gets exactly its messages", "[core][run]") {
  const ManifestFolder here;
  add_models_of_table(here);
  const std::vector<WrongManifest> table = quench::test::wrong_manifests();
  CHECK(table.size() >= 130);
  std::set<std::string> titles;
  for (const WrongManifest& wrong : table) {
    CAPTURE(wrong.title);
    CHECK(titles.insert(wrong.title).second);
    CHECK(!wrong.message.empty());
    CHECK(here.problems(wrong.text, wrong.sets) == wrong.message);
  }
}
