#include "core/plugin/catalog/probe_cache.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/temporary.hpp"

using quench::LinkedLibrary;
using quench::ProbeCache;
using quench::test::TemporaryDir;
namespace fs = std::filesystem;

namespace {

quench::ProbeEntry entry_on(ProbeCache& cache, const std::vector<LinkedLibrary>& links) {
  quench::ProbeEntry entry;
  entry.sha256 = std::string(64, 'a');
  entry.links = cache.watch(links);
  entry.items.emplace_back().kind = "corpus";
  entry.items.front().links = links;
  return entry;
}

nlohmann::json written(const fs::path& folder) {
  return nlohmann::json::parse(quench::test::read_file(ProbeCache::file_in(folder)));
}

}  // namespace

TEST_CASE("probe cache: libraries that plugins share are written once", "[core][plugin]") {
  const TemporaryDir folder;
  const LinkedLibrary shared = {"libshared.so", folder.write("libshared.so", "1"), "11"};
  const LinkedLibrary own = {"libown.so", folder.write("libown.so", "2"), "22"};
  const fs::path one = folder.write("one.so", "");
  const fs::path two = folder.write("two.so", "");
  ProbeCache cache(folder.path());
  cache.store(one, entry_on(cache, {shared}));
  cache.store(two, entry_on(cache, {own, shared}));
  cache.save();
  CHECK(written(folder.path()).at("links").size() == 2);

  ProbeCache again(folder.path());
  REQUIRE(again.find(two) != nullptr);
  CHECK(again.find(two)->items.front().links == std::vector<LinkedLibrary>{own, shared});
  CHECK(again.find(one)->items.front().links == std::vector<LinkedLibrary>{shared});
  CHECK(again.is_current(*again.find(two)));

  SECTION("what no plugin runs on any more is not written again") {
    again.forget(two);
    again.save();
    CHECK(written(folder.path()).at("links").size() == 1);
    CHECK(ProbeCache(folder.path()).find(one)->items.front().links.front() == shared);
  }
  SECTION("another file in the place of one is seen by those that run on it") {
    folder.write("libown.so", "longer");
    ProbeCache later(folder.path());
    CHECK_FALSE(later.is_current(*later.find(two)));
    CHECK(later.is_current(*later.find(one)));
  }
  SECTION("a number that no library has makes the cache as good as none") {
    nlohmann::json whole = written(folder.path());
    whole["libraries"][one.string()]["links"] = {7};
    folder.write("plugins.json", whole.dump());
    CHECK(ProbeCache(folder.path()).find(two) == nullptr);
  }
}

TEST_CASE("probe cache: what a plugin runs on is watched as it is now, also what is not there",
          "[core][plugin]") {
  const TemporaryDir folder;
  const LinkedLibrary library = {"libx.so", folder.write("libx.so", "1"), ""};
  const LinkedLibrary gone = {"libgone.so", folder / "libgone.so", ""};
  ProbeCache cache("");
  quench::ProbeEntry entry = entry_on(cache, {library, gone});
  CHECK(entry.links[1].stamp == quench::FileIdentity{});
  CHECK(cache.is_current(entry));
  entry.links[0].stamp = {};  // of another file, which is no more
  CHECK_FALSE(cache.is_current(entry));
  folder.write("libgone.so", "2");
  CHECK_FALSE(ProbeCache("").is_current(entry_on(cache, {gone})));  // looked at before
}
