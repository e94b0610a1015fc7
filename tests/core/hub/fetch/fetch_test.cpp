#include "core/hub/fetch/fetch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "core/base/io/process_identity.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "tests/core/hub/fetch/scene.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using quench::FetchPlan;
using quench::Purpose;
using quench::test::FetchScene;
using quench::test::read_file;

TEST_CASE("fetch: a revision becomes blobs, a snapshot of relative links and a name", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.add("models/org/name/main/sub/notes.txt", "not read");
  scene.server.start();
  const FetchPlan plan = scene.fetch("hf://org/name");
  REQUIRE(plan.revisions.size() == 1);
  CHECK(plan.missing_files == 3);
  const quench::ResolvedModel found = quench::resolve("hf://org/name", scene.environment());
  CHECK(found.commit == plan.revisions[0].commit);
  CHECK(read_file(scene.cache() / "models--org--name/refs/main") == found.commit);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(found.folder)) {
    REQUIRE(entry.is_symlink());
    CHECK(fs::read_symlink(entry.path()).parent_path() == "../../blobs");
    ++files;
  }
  CHECK(files == 3);
  CHECK(read_file(found.folder / "config.json") == R"({"model_type": "llama"})");
  CHECK(quench::verify_blobs(found.folder, scene.environment()).checked == 3);
  CHECK(scene.has_weights("hf://org/name"));
  CHECK(read_file(scene.cache() / "CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172"));
}

TEST_CASE("fetch: a second fetch asks for lists and for no file", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  scene.fetch("hf://org/name");
  const size_t files = scene.server.count("/resolve/");
  CHECK(files == 3);
  const std::string before = quench::test::cache_listing(scene.cache());
  CHECK(scene.fetch("hf://org/name").missing_files == 0);
  CHECK(scene.server.count("/resolve/") == files);
  CHECK(quench::test::cache_listing(scene.cache()) == before);
}

TEST_CASE("fetch: a branch that has moved gets another snapshot and shares what is equal",
          "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  const std::string first = scene.fetch("hf://org/name").revisions[0].commit;
  scene.server.add_model("org/name/main", 200'000, 2);
  const FetchPlan second = scene.fetch("hf://org/name");
  CHECK(second.revisions[0].commit != first);
  CHECK(second.missing_files == 1);
  CHECK(quench::resolve("hf://org/name", scene.environment()).commit == second.revisions[0].commit);
  CHECK(scene.has_weights("hf://org/name"));
  CHECK(scene.has_weights("hf://org/name@" + first));
}

TEST_CASE("fetch: a commit is fetched by its hash and gets no name", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/step1");
  scene.server.start();
  const std::string commit = scene.plan({"hf://org/name@step1"}).revisions[0].commit;
  scene.fetch("hf://org/name@" + commit);
  CHECK(scene.has_weights("hf://org/name@" + commit));
  CHECK(fs::is_empty(scene.cache() / "models--org--name/refs"));
}

TEST_CASE("fetch: a plan counts a file of several revisions once and writes nothing", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/step1");
  scene.server.add_model("org/name/step2", 100'000, 2);
  scene.server.start({"--page", "2"});  // every list of files has several pages
  const FetchPlan plan =
      scene.plan({"hf://org/name@step1", "hf://org/name@step2", "hf://org/name@step1"});
  CHECK(plan.revisions.size() == 2);
  CHECK(plan.files == 4);
  CHECK(plan.missing_bytes == 400'000 + 23 + 18);
  CHECK(plan.revisions[1].missing_bytes == 100'000);
  CHECK_FALSE(fs::exists(scene.cache()));
}

TEST_CASE("fetch: an index is asked for once to plan, once to keep, and then never", "[fetch]") {
  FetchScene scene;
  const std::string index = "model.safetensors.index.json";
  scene.server.add("models/org/name/main/" + index, R"({"weight_map": {"a": "one.safetensors"}})");
  scene.server.add("models/org/name/main/one.safetensors", std::string(5000, 'x'));
  scene.server.add("models/org/name/main/two.safetensors", "not named");
  scene.server.start();
  CHECK(scene.fetch("hf://org/name").files == 2);
  CHECK(scene.server.count(index) == 2);
  CHECK(scene.plan({"hf://org/name"}).missing_files == 0);
  CHECK(scene.server.count(index) == 2);
}

TEST_CASE("fetch: a data set comes whole, or one file of it", "[fetch]") {
  FetchScene scene;
  scene.server.add("datasets/org/data/main/en/a b#1.json", "{}");
  scene.server.add("datasets/org/data/main/README.md", "about");
  scene.server.start();
  scene.fetch("hf://datasets/org/data/en/a b#1.json", Purpose::kAll);
  const auto found = quench::resolve("hf://datasets/org/data/en/a b#1.json", scene.environment());
  CHECK(read_file(found.folder / found.file) == "{}");
  CHECK_FALSE(fs::exists(found.folder / "README.md"));
  scene.fetch("hf://datasets/org/data", Purpose::kAll);
  CHECK(read_file(found.folder / "README.md") == "about");
}

TEST_CASE("fetch: a snapshot that lacks files, or links elsewhere, is completed", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  const auto plan = scene.fetch("hf://org/name");
  const fs::path snapshot = quench::resolve("hf://org/name", scene.environment()).folder;
  const std::string whole = quench::test::cache_listing(scene.cache());
  fs::remove(snapshot / "config.json");
  fs::remove(snapshot / "model.safetensors");
  fs::create_symlink("../../blobs/0000", snapshot / "model.safetensors");
  scene.fetch("hf://org/name");
  CHECK(quench::test::cache_listing(scene.cache()) == whole);
}

TEST_CASE("fetch: what a killed process left of a name goes, that of a living one stays",
          "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  const auto growing = [&](uint64_t start) {
    const fs::path folder = scene.cache() / "models--org--name" /
                            fmt::format(".reference.{}-{}-{}-00000000.partial",
                                        quench::this_process().place, getppid(), start);
    fs::create_directories(folder);
    std::ofstream(folder / "commit") << "0123";
    return folder;
  };
  const fs::path living = growing(quench::process_start(getppid()));
  const fs::path dead = growing(1);
  scene.fetch("hf://org/name");
  CHECK(fs::exists(living));
  CHECK_FALSE(fs::exists(dead));
  CHECK(scene.has_weights("hf://org/name"));
}

TEST_CASE("fetch: what does not exist is told at once for all revisions", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/step1000");
  scene.server.start();
  CHECK(scene.failure("hf://org/name@step100") ==
        "hf://org/name: HUB has no revision 'step100'; nearest is step1000");
  CHECK(scene.failure("hf://org/other") ==
        "hf://org/other: HUB has no such repository, or it is private and wants a token in "
        "HF_TOKEN");
  const std::string both = quench::test::message_of([&] {
    scene.plan({"hf://org/name@far", "hf://org/name@away"});
  });
  CHECK_THAT(both, Contains("'far'") && Contains("\n") && Contains("'away'"));
  CHECK(quench::test::code_of([&] { scene.plan({"hf://org/name@far"}); }) == QUENCH_NOT_FOUND);
}

TEST_CASE("fetch: too little space is told before the first byte", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  FetchPlan plan = scene.plan({"hf://org/name"});
  plan.missing_bytes = uint64_t{1} << 60;
  quench::HubApi api(scene.access, scene.policy);
  CHECK_THAT(quench::test::message_of([&] { quench::fetch(plan, api); }),
             Contains("too little space: the files need 1152921504606846976 more bytes, "));
  CHECK(scene.server.count("/resolve/") == 0);
}

TEST_CASE("fetch: a request to stop keeps what came, and the next fetch goes on there", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start({"--fault", "stall:safetensors:100000:1"});
  scene.access.silence_seconds = 60;
  std::thread stop([&] {
    while (scene.server.count("safetensors") == 0 || !fs::exists(scene.blobs())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    scene.cancel = true;
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK(scene.failure("hf://org/name") == "stopped on request");
  stop.join();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  scene.cancel = false;
  CHECK(scene.plan({"hf://org/name"}).missing_bytes == 200'000 + 18);
  scene.fetch("hf://org/name");
  CHECK(scene.has_weights("hf://org/name"));
  CHECK(scene.server.last("safetensors")["range"] == "bytes=100000-");
}
