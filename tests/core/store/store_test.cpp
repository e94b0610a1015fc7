#include "core/store/store.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/base/process/child_process.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::Record;
using quench::Store;
using quench::test::code_of;
using quench::test::message_of;
using quench::test::sample_group;
using quench::test::sample_record;
using quench::test::TemporaryDir;

namespace {

fs::path file_of(const TemporaryDir& home, const std::string& key, int generation = 0) {
  return home /
         ("records/" + key.substr(0, 2) + "/" + key + "." + std::to_string(generation) + ".json");
}

void flip_bit(const fs::path& path, size_t at) {
  std::string content = quench::test::read_file(path);
  content.at(at) = static_cast<char>(content.at(at) ^ 4);
  std::ofstream(path, std::ios::binary) << content;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      out.push_back(entry.path());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("store: what is published is found, in order and equal", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  const auto group = sample_group(1, 3);
  CHECK_FALSE(store.find(group[0].key));
  store.publish(group);
  const auto found = store.find(group[0].key);
  REQUIRE(found);
  REQUIRE(found->size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(to_json((*found)[i]) == to_json(group[i]));
  }
  CHECK(files_below(home.path()) == std::vector<fs::path>{file_of(home, group[0].key)});
}

TEST_CASE("store: without a home nothing is found and nothing kept", "[store]") {
  Store store{fs::path()};
  store.publish({sample_record(1)});
  CHECK_FALSE(store.find(sample_record(1).key));
  CHECK_FALSE(store.forget(sample_record(1).key, "x"));
}

TEST_CASE("store: the first publication of a generation stays", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  Record later = sample_record(1);
  later.seconds = 77;
  store.publish({sample_record(1)});
  store.publish({later});
  CHECK(store.find(later.key)->at(0).seconds == 1.5);
}

TEST_CASE("store: only all values of one evaluation that succeeded are taken", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  auto group = sample_group(1, 3);
  Record failed = sample_record(1);
  failed.error = "broken";
  Record nameless = sample_record(1);
  nameless.key = "../x";
  for (const auto& wrong : std::vector<std::vector<Record>>{{group[0], group[1]},
                                                            {group[1], group[0], group[2]},
                                                            {failed},
                                                            {nameless},
                                                            {sample_record(1), sample_record(2)}}) {
    CHECK(code_of([&] { store.publish(wrong); }) == QUENCH_INVALID_ARGUMENT);
  }
  CHECK(fs::is_empty(home.path()));
  CHECK(code_of([&] { store.find("../../etc/passwd"); }) == QUENCH_INVALID_ARGUMENT);
}

TEST_CASE("store: a flipped bit anywhere is a miss and said", "[store]") {
  const TemporaryDir home;
  std::vector<std::string> log;
  Store store(home.path(), [&](const std::string& line) { log.push_back(line); });
  const Record record = sample_record(1);
  store.publish({record});
  const fs::path path = file_of(home, record.key);
  const size_t size = fs::file_size(path);
  for (size_t at = 0; at + 1 < size; at += 7) {
    flip_bit(path, at);
    REQUIRE_FALSE(store.find(record.key));
    flip_bit(path, at);
  }
  CHECK(log.size() == (size + 5) / 7);
  CHECK_THAT(log.back(), Catch::StartsWith(path.string()) && Catch::EndsWith("; it is not used"));
  REQUIRE(store.find(record.key));
}

TEST_CASE("store: a file cut at any byte is a miss", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  const Record record = sample_record(1);
  store.publish({record});
  for (uint64_t size = fs::file_size(file_of(home, record.key)) - 2; size > 40; size -= 41) {
    fs::resize_file(file_of(home, record.key), size);
    REQUIRE_FALSE(store.find(record.key));
  }
}

TEST_CASE("store: what does not verify is hidden and published anew", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  const Record record = sample_record(1);
  store.publish({record});
  flip_bit(file_of(home, record.key), 100);
  store.publish({record});
  REQUIRE(store.find(record.key));
  CHECK(fs::exists(file_of(home, record.key, 0)));  // evidence is never deleted
  CHECK(fs::exists(file_of(home, record.key, 1)));
}

TEST_CASE("store: a file under another key's name is a miss", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  store.publish({sample_record(1)});
  store.publish({sample_record(2)});
  fs::copy_file(file_of(home, sample_record(1).key), file_of(home, sample_record(2).key),
                fs::copy_options::overwrite_existing);
  CHECK_FALSE(store.find(sample_record(2).key));
}

TEST_CASE("store: what is forgotten stays hidden, what comes after counts", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  const Record record = sample_record(1, "", 1.0);
  CHECK_FALSE(store.forget(record.key, "not there"));
  store.publish({record});
  CHECK(store.forget(record.key, "power cut"));
  CHECK_FALSE(store.find(record.key));
  CHECK_FALSE(store.forget(record.key, "again"));
  store.publish({sample_record(1, "", 2.0)});
  CHECK(store.find(record.key)->at(0).value == 2.0);
  CHECK(store.forget(record.key, "again"));
  CHECK_FALSE(Store(home.path()).find(record.key));
}

TEST_CASE("store: a store of a newer version is refused", "[store]") {
  const TemporaryDir home;
  Store store(home.path());
  const Record record = sample_record(1);
  nlohmann::json newer = to_json(record);
  newer["schema"] = 9;
  home.write(file_of(home, record.key).lexically_relative(home.path()).string(), [&] {
    const std::string body = quench::canonical_json(nlohmann::json::array({newer}));
    return "{\"records\":" + body + ",\"sha256\":\"" + quench::sha256_hex(body) + "\"}\n";
  }());
  CHECK_THAT(message_of([&] { store.find(record.key); }),
             Catch::Contains("a newer version wrote this record of schema 9"));
}

TEST_CASE("store: eight processes publish the same keys without a loss", "[store]") {
  const TemporaryDir home;
  constexpr int kProcesses = 8;
  constexpr int kKeys = 40;
  std::vector<quench::ChildProcess> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(quench::ChildProcess::start_copy([&] {
      Store store(home.path());
      for (int k = 0; k < kKeys; ++k) {
        store.publish({sample_record((k * 7 + p * 11) % kKeys)});
      }
      return 0;
    }));
  }
  for (quench::ChildProcess& child : children) {
    CHECK(child.wait().code() == 0);
  }
  const Store store(home.path());
  for (int k = 0; k < kKeys; ++k) {
    CHECK(store.find(sample_record(k).key));
  }
  CHECK(files_below(home.path()).size() == kKeys);  // no temporary is left
}
