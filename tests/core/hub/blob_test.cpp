#include "core/hub/blob.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "core/base/io/sha256.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::check_blob;
using quench::check_blobs;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

const std::string kCommit(40, 'a');
const std::string kGitHello = "ce013625030ba8dba906f756967f9e9ca394464a";  // of "hello\n"

// A snapshot with a large file named by its SHA-256 and a small one named by its git id.
class Cache {
 public:
  Cache() {
    environment.hf_hub_cache = (folder / "cache").string();
    fs::create_directories(snapshot());
    add("model.safetensors", quench::sha256_hex("weights"), "weights");
    add("config.json", kGitHello, "hello\n");
  }
  void add(const std::string& name, const std::string& blob, const std::string& content) const {
    folder.write("cache/models--org--name/blobs/" + blob, content);
    fs::create_symlink("../../blobs/" + blob, snapshot() / name);
  }
  fs::path snapshot() const { return folder / ("cache/models--org--name/snapshots/" + kCommit); }
  fs::path blob(const std::string& name) const {
    return folder / ("cache/models--org--name/blobs/" + name);
  }
  std::string fault(const std::string& name) const {
    return message_of([&] { check_blob(snapshot() / name, environment); }, folder.path());
  }

  TemporaryDir folder;
  quench::HubEnvironment environment;
};

// Other content of the same length under the same name, as a write through the link leaves it.
void flip(const fs::path& blob) {
  const std::string content = quench::test::read_file(blob);
  std::ofstream(blob, std::ios::binary) << std::string(content.size(), 'x');
}

}  // namespace

TEST_CASE("check_blob: a file written under its SHA-256 is refused with all that there is to do",
          "[core][hub]") {
  const Cache cache;
  CHECK(cache.fault("model.safetensors").empty());
  const std::string name = quench::sha256_hex("weights");
  flip(cache.blob(name));
  CHECK(cache.fault("model.safetensors") ==
        "cache/models--org--name/blobs/" + name + ": damaged: content has hash " +
            quench::sha256_hex("xxxxxxx") + ", its name in the cache of hf://org/name says " +
            name + ": remove this file and download it again");
}

TEST_CASE("check_blob: a small file is compared with its git id", "[core][hub]") {
  const Cache cache;
  CHECK(cache.fault("config.json").empty());
  flip(cache.blob(kGitHello));
  CHECK_THAT(cache.fault("config.json"),
             Catch::Contains("its name in the cache of hf://org/name says " + kGitHello));
}

TEST_CASE("check_blob: a store that snapshots of several repositories share is checked too",
          "[core][hub]") {
  const Cache cache;
  const std::string name = quench::sha256_hex("shared");
  cache.folder.write("cache/store/" + name, "damaged");
  fs::create_symlink("../../store/" + name, cache.blob("link"));
  fs::create_symlink("../../blobs/link", cache.snapshot() / "pytorch_model.bin");
  CHECK_THAT(cache.fault("pytorch_model.bin"), Catch::Contains("the cache of hf://org/name says"));
}

TEST_CASE("check_blob: files that are none of the hub's pass", "[core][hub]") {
  const Cache cache;
  const std::string name = quench::sha256_hex("something else");
  cache.folder.write("elsewhere/" + name, "content");
  CHECK_NOTHROW(check_blob(cache.folder / ("elsewhere/" + name), cache.environment));
  CHECK_NOTHROW(check_blobs(cache.folder / "elsewhere", cache.environment));
  cache.folder.write("cache/models--org--name/refs/main", "a name that is no hash");
  CHECK_NOTHROW(check_blob(cache.folder / "cache/models--org--name/refs/main", cache.environment));
  CHECK_NOTHROW(check_blob(cache.snapshot() / "nothing", cache.environment));
  flip(cache.blob(kGitHello));
  CHECK_NOTHROW(check_blob(cache.snapshot() / "config.json", quench::HubEnvironment()));
}

TEST_CASE("check_blobs: takes every file of a folder", "[core][hub]") {
  const Cache cache;
  const auto fault = [&] {
    return message_of([&] { check_blobs(cache.snapshot(), cache.environment); });
  };
  CHECK(fault().empty());
  flip(cache.blob(quench::sha256_hex("weights")));
  CHECK_THAT(fault(), Catch::Contains("damaged"));
}

TEST_CASE("check_blob: what was found intact is remembered for later processes", "[core][hub]") {
  Cache cache;
  cache.environment.memory = cache.folder / "home";
  fs::create_directory(cache.folder / "home");
  const auto entries = [&] {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(cache.folder / "home")) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  };
  // What changed just now could change again without a trace.
  CHECK(cache.fault("config.json").empty());
  CHECK(entries() == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  CHECK(cache.fault("model.safetensors").empty());
  CHECK(entries() == 1);
}

TEST_CASE("verify_blobs: counts files and lists all that are damaged", "[core][hub]") {
  const Cache cache;
  const auto report = [&] { return quench::verify_blobs(cache.snapshot(), cache.environment); };
  CHECK(report().checked == 2);
  CHECK(report().faults.empty());
  flip(cache.blob(kGitHello));
  flip(cache.blob(quench::sha256_hex("weights")));
  CHECK(report().faults.size() == 2);
}
