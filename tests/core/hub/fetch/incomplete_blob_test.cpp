#include "core/hub/fetch/incomplete_blob.hpp"

#include <sys/file.h>

#include <fcntl.h>
#include <catch2/catch.hpp>

#include "core/base/io/sha256.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::HubFile;
using quench::IncompleteBlob;
using quench::test::read_file;
using quench::test::TemporaryDir;

namespace {

const std::string kContent = "the weights of a model";

HubFile large() {
  return {"model.safetensors", kContent.size(), quench::sha256_hex(kContent)};
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("incomplete blob: what another process left is continued", "[fetch]") {
  const TemporaryDir blobs;
  {
    IncompleteBlob first(blobs.path(), large(), nullptr);
    first.take(0, kContent.substr(0, 5));
  }
  CHECK(quench::bytes_left_over(blobs.path(), large()) == 5);
  IncompleteBlob second(blobs.path(), large(), nullptr);
  CHECK(second.bytes() == 5);
  second.take(5, kContent.substr(5));
  REQUIRE(second.is_intact());
  CHECK(second.publish());
  CHECK(read_file(blobs / large().hash) == kContent);
  CHECK(files_in(blobs.path()) == 1);
}

TEST_CASE("incomplete blob: only what is named after a hash is a leftover", "[fetch]") {
  const TemporaryDir blobs;
  const std::string hash = large().hash;
  for (const std::string& name : {hash, std::string("mine"), hash + ".0.incomplete",
                                  std::string("mine.0.incomplete"), std::string(".incomplete")}) {
    blobs.write(name, kContent);
  }
  quench::remove_published_leftovers(blobs.path());
  CHECK_FALSE(fs::exists(blobs / (hash + ".0.incomplete")));
  CHECK(fs::exists(blobs / "mine.0.incomplete"));
  CHECK(fs::exists(blobs / ".incomplete"));
}

TEST_CASE("incomplete blob: one that is being written is left alone", "[fetch]") {
  const TemporaryDir blobs;
  IncompleteBlob first(blobs.path(), large(), nullptr);
  first.take(0, kContent.substr(0, 5));
  IncompleteBlob second(blobs.path(), large(), nullptr);
  CHECK(second.bytes() == 0);
  second.take(0, kContent);
  REQUIRE(second.is_intact());
  CHECK(second.publish());
  first.take(5, kContent.substr(5));
  REQUIRE(first.is_intact());
  CHECK(first.publish());
  CHECK(read_file(blobs / large().hash) == kContent);
  CHECK(files_in(blobs.path()) == 1);
}

// As on a file system that grants every lock.
TEST_CASE("incomplete blob: a writer whose file was taken over does no harm", "[fetch]") {
  const TemporaryDir blobs;
  IncompleteBlob first(blobs.path(), large(), nullptr);
  first.take(0, kContent.substr(0, 5));
  fs::rename(fs::directory_iterator(blobs.path())->path(), blobs / "taken");
  first.take(5, kContent.substr(5));
  REQUIRE(first.is_intact());
  CHECK_FALSE(first.publish());
  CHECK(read_file(blobs / "taken") == kContent);
  first.restart();
  first.take(0, kContent);
  REQUIRE(first.is_intact());
  blobs.write(large().hash, kContent);
  fs::remove(blobs / "taken");
  CHECK(first.publish());
  CHECK(read_file(blobs / large().hash) == kContent);
  CHECK(files_in(blobs.path()) == 1);
}

TEST_CASE("incomplete blob: a file that is too long or has other content is no beginning",
          "[fetch]") {
  const TemporaryDir blobs;
  blobs.write(large().hash + ".00000001.incomplete", kContent + "and more");
  IncompleteBlob blob(blobs.path(), large(), nullptr);
  CHECK(blob.bytes() == 0);
  blob.take(0, "other" + kContent.substr(5));
  CHECK_FALSE(blob.is_intact());
  blob.restart();
  CHECK(blob.bytes() == 0);
  blob.take(0, kContent);
  CHECK(blob.is_intact());
}

TEST_CASE("incomplete blob: a small file has git's hash, and a server may start over", "[fetch]") {
  const TemporaryDir blobs;
  const HubFile small{"config.json", 6, "ce013625030ba8dba906f756967f9e9ca394464a"};
  IncompleteBlob blob(blobs.path(), small, nullptr);
  blob.take(0, "hel");
  blob.take(0, "hello\n");
  REQUIRE(blob.is_intact());
  CHECK(blob.publish());
  CHECK(read_file(blobs / small.hash) == "hello\n");
}

TEST_CASE("incomplete blob: leftovers of a file that is there go, others and living ones stay",
          "[fetch]") {
  const TemporaryDir blobs;
  const HubFile other{"other", 5, quench::sha256_hex("other")};
  IncompleteBlob alive(blobs.path(), large(), nullptr);
  blobs.write(large().hash, kContent);
  blobs.write(large().hash + ".00000001.incomplete", "dead");
  blobs.write(other.hash + ".00000001.incomplete", "oth");
  quench::remove_published_leftovers(blobs.path());
  CHECK(files_in(blobs.path()) == 3);
  CHECK_FALSE(fs::exists(blobs / (large().hash + ".00000001.incomplete")));
  CHECK(quench::bytes_left_over(blobs.path(), other) == 3);
}

TEST_CASE("incomplete blob: what another process has published meanwhile stays the file that it is",
          "[fetch]") {
  const TemporaryDir blobs;
  IncompleteBlob first(blobs.path(), large(), nullptr);
  IncompleteBlob second(blobs.path(), large(), nullptr);
  for (IncompleteBlob* blob : {&first, &second}) {
    blob->take(0, kContent);
    REQUIRE(blob->is_intact());
  }
  CHECK(first.publish());
  const quench::FileIdentity before = quench::File(blobs / large().hash).identity();
  CHECK(second.publish());
  CHECK(quench::File(blobs / large().hash).identity() == before);
  CHECK(files_in(blobs.path()) == 1);
}

TEST_CASE("incomplete blob: a blob of the wrong size is replaced", "[fetch]") {
  const TemporaryDir blobs;
  blobs.write(large().hash, "cut short");
  IncompleteBlob blob(blobs.path(), large(), nullptr);
  blob.take(0, kContent);
  REQUIRE(blob.is_intact());
  CHECK(blob.publish());
  CHECK(read_file(blobs / large().hash) == kContent);
}

TEST_CASE("incomplete blob: links that others planted are not followed", "[fetch]") {
  const TemporaryDir blobs;
  const fs::path victim = blobs.write("victim", "precious");
  fs::create_symlink(victim, blobs / (large().hash + ".00000001.incomplete"));
  IncompleteBlob blob(blobs.path(), large(), nullptr);
  blob.take(0, kContent);
  CHECK(read_file(victim) == "precious");
}
