#include "core/hub/resolve.hpp"

#include <catch2/catch.hpp>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::hub_cache_root;
using quench::HubEnvironment;
using quench::resolve;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

const std::string kOnlyCommit(40, 'a');

HubEnvironment cache_at(const fs::path& folder) {
  HubEnvironment environment;
  environment.hf_hub_cache = folder.string();
  return environment;
}

// cache/models--org--name with revision main, tag v/1 and one file behind a chain of two links.
class LinkedCache {
 public:
  LinkedCache() : environment(cache_at(folder / "cache")) {
    folder.write("cache/models--org--name/refs/main", kOnlyCommit + "\n");
    folder.write("cache/models--org--name/refs/v/1", kOnlyCommit);
    folder.write("cache/store/x", "content");
    fs::create_directories(repository() / "blobs");
    fs::create_directories(snapshot() / "sub");
    fs::create_symlink("../../store/x", repository() / "blobs" / "b");
    fs::create_symlink("../../blobs/b", snapshot() / "config.json");
    fs::create_symlink("../../../blobs/b", snapshot() / "sub/deep.json");
  }
  fs::path repository() const { return folder / "cache/models--org--name"; }
  fs::path snapshot() const { return repository() / "snapshots" / kOnlyCommit; }
  std::string message(const std::string& spec) const {
    return message_of([&] { resolve(spec, environment); }, folder.path());
  }

  TemporaryDir folder;
  HubEnvironment environment;
};

}  // namespace

TEST_CASE("hub_cache_root: follows the variables in the client's order", "[core][hub]") {
  HubEnvironment environment;
  CHECK(message_of([&] { hub_cache_root(environment); }) ==
        "hub cache: neither HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME nor HOME is set");
  environment.home = "/h";
  CHECK(hub_cache_root(environment) == "/h/.cache/huggingface/hub");
  environment.xdg_cache_home = "/x";
  CHECK(hub_cache_root(environment) == "/x/huggingface/hub");
  environment.hf_home = "~/f";
  CHECK(hub_cache_root(environment) == "/h/f/hub");
  environment.huggingface_hub_cache = "/old";
  CHECK(hub_cache_root(environment) == "/old");
  environment.hf_hub_cache = "/new";
  CHECK(hub_cache_root(environment) == "/new");
}

TEST_CASE("parse_hub_spec: takes specs apart", "[core][hub]") {
  const auto model = quench::parse_hub_spec("hf://org/na.me_1@stage1-step10/b");
  CHECK(model.repository == "org/na.me_1");
  CHECK(model.revision == "stage1-step10/b");
  CHECK_FALSE(model.dataset);
  const auto file = quench::parse_hub_spec("hf://datasets/org/name/en/c4.json.gz");
  CHECK(file.dataset);
  CHECK(file.repository == "org/name");
  CHECK(file.file == "en/c4.json.gz");
  CHECK(file.revision == "main");
  CHECK(quench::parse_hub_spec("hf://gpt2@main").repository == "gpt2");
}

TEST_CASE("parse_hub_spec: refuses what could leave the cache", "[core][hub]") {
  const std::string tail =
      ", wanted hf://org/name@revision or hf://datasets/org/name/file@revision";
  struct Case {
    std::string spec;
    std::string message;
  };
  const auto [spec, message] = GENERATE(values<Case>({
      {"org/name", "org/name: does not begin with hf://"},
      {"hf://", "hf://: bad repository name"},
      {"hf://../x", "hf://../x: bad repository name"},
      {"hf:///x", "hf:///x: bad repository name"},
      {"hf://org/", "hf://org/: bad repository name"},
      {"hf://org/a--b", "hf://org/a--b: bad repository name"},
      {std::string("hf://org/a\0b", 12), "hf://org/a\\x00b: bad repository name"},
      {"hf://org/name@", "hf://org/name@: bad revision"},
      {"hf://org/name@../../x", "hf://org/name@../../x: bad revision"},
      {"hf://org/name@/etc", "hf://org/name@/etc: bad revision"},
      {"hf://org/name@a\nb", "hf://org/name@a\\x0ab: bad revision"},
      {"hf://datasets/org/name/../x", "hf://datasets/org/name/../x: bad file name"},
      {"hf://datasets/org/name/a\\b", "hf://datasets/org/name/a\\b: bad file name"},
  }));
  CHECK(message_of([&, &text = spec] { quench::parse_hub_spec(text); }) == message + tail);
}

TEST_CASE("resolve: a repository of much the same name is told", "[core][hub]") {
  const LinkedCache cache;
  cache.folder.write("cache/datasets--org--mane/refs/main", kOnlyCommit);
  const auto told = [&](const std::string& spec) {
    return message_of([&] { resolve(spec, cache.environment); });
  };
  CHECK(told("hf://org/nane") == "hf://org/nane: 'org/nane' is not in the cache " +
                                     (cache.folder / "cache").string() +
                                     "; did you mean hf://org/name?; get it with: quench fetch "
                                     "hf://org/nane");
  CHECK(told("hf://org/other").find("did you mean") == std::string::npos);
  CHECK(told("hf://datasets/org/nane").find("; did you mean hf://datasets/org/mane?") !=
        std::string::npos);
}

TEST_CASE("resolve: finds revisions by name, by tag with slashes and by commit", "[core][hub]") {
  const LinkedCache cache;
  for (const char* revision : {"", "@main", "@v/1", "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    const auto found = resolve(std::string("hf://org/name") + revision, cache.environment);
    CHECK(found.commit == kOnlyCommit);
    CHECK(found.folder == cache.snapshot());
    CHECK(quench::test::read_file(found.folder / "config.json") == "content");
  }
  const auto file = resolve("hf://org/name/sub/deep.json@v/1", cache.environment);
  CHECK(file.file == "sub/deep.json");
}

TEST_CASE("resolve: what is not cached is told with what is", "[core][hub]") {
  const LinkedCache cache;
  CHECK(cache.message("hf://org/other") ==
        "hf://org/other: 'org/other' is not in the cache cache; get it with: quench fetch "
        "hf://org/other");
  CHECK(cache.message("hf://datasets/org/name") ==
        "hf://datasets/org/name: 'org/name' is not in the cache cache; get it with: quench fetch "
        "hf://datasets/org/name");
  CHECK(cache.message("hf://org/name@mian") ==
        "hf://org/name@mian: revision 'mian' is not in the cache cache/models--org--name (there: "
        "main, v/1), nearest is 'main'; get it with: quench fetch hf://org/name@mian");
  CHECK(cache.message("hf://org/name@step100000") ==
        "hf://org/name@step100000: revision 'step100000' is not in the cache "
        "cache/models--org--name (there: main, v/1); get it with: quench fetch "
        "hf://org/name@step100000");
  CHECK(cache.message("hf://org/name@v") ==
        "hf://org/name@v: revision 'v' is not in the cache cache/models--org--name (there: main, "
        "v/1), nearest is 'v/1'; get it with: quench fetch hf://org/name@v");
  const std::string other(40, 'b');
  CHECK(cache.message("hf://org/name@" + other) ==
        "hf://org/name@" + other + ": revision '" + other +
            "' is not in the cache cache/models--org--name (there: main, v/1); get it with: quench "
            "fetch "
            "hf://org/name@" +
            other);
  CHECK(cache.message("hf://org/name/no.json") ==
        "hf://org/name/no.json: file 'no.json' is not in the cache "
        "cache/models--org--name/snapshots/" +
            kOnlyCommit + "; get it with: quench fetch hf://org/name/no.json");
  cache.folder.write("cache/models--org--name/refs/gone", other);
  CHECK(cache.message("hf://org/name@gone") ==
        "hf://org/name@gone: revision 'gone' is commit " + other +
            ", whose files are not in the cache cache/models--org--name; get it with: quench fetch "
            "hf://org/name@gone");
  cache.folder.write("cache/models--org--name/refs/odd", "../../../../etc");
  CHECK(cache.message("hf://org/name@odd") ==
        "hf://org/name@odd: cache/models--org--name/refs/odd holds '../../../../etc', wanted a "
        "commit of 40 hexadecimal digits");
}

TEST_CASE("resolve: a file that leaves the cache is refused", "[core][hub]") {
  const LinkedCache cache;
  const std::string snapshot = "cache/models--org--name/snapshots/" + kOnlyCommit;
  const std::string root = (fs::canonical(cache.folder.path()) / "cache").string();
  cache.folder.write("outside", "secret");
  SECTION("link to the outside") {
    fs::create_symlink(cache.folder / "outside", cache.snapshot() / "z");
    CHECK(cache.message("hf://org/name") ==
          snapshot + "/z: links to outside, outside the cache cache");
  }
  SECTION("link to a folder with the cache's name as a prefix") {
    cache.folder.write("cache2/x", "secret");
    fs::create_symlink(cache.folder / "cache2/x", cache.snapshot() / "z");
    CHECK(cache.message("hf://org/name") ==
          snapshot + "/z: links to cache2/x, outside the cache cache");
  }
  SECTION("link to a folder") {
    fs::create_symlink("../../refs", cache.snapshot() / "z");
    CHECK(cache.message("hf://org/name") == snapshot + "/z: not a regular file");
  }
  SECTION("link to nothing") {
    fs::create_symlink("../../blobs/no", cache.snapshot() / "z");
    CHECK(cache.message("hf://org/name") ==
          snapshot + "/z: links to a file that does not exist (No such file or directory)");
  }
  SECTION("link to itself") {
    fs::create_symlink("z", cache.snapshot() / "z");
    CHECK(cache.message("hf://org/name") ==
          snapshot + "/z: links to a file that does not exist (Too many levels of symbolic links)");
  }
}
