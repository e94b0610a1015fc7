// Against what wandb's own DataStore and protocol buffers wrote (tests/data/wandb_reference.py).
#include "report/export/wandb_file.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/io/sha256.hpp"
#include "core/json/parse_json.hpp"
#include "report/export/wandb_log.hpp"
#include "tests/report/export/tracked_records.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const json& reference() {
  static const json kReference = parse_json(
      read_file(source_dir() / "tests/data/wandb_reference.json"), "wandb_reference.json");
  return kReference;
}

std::string bytes_of(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
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

TEST_CASE("wandb log: a record has checksum, length, kind, bytes behind the file's header",
          "[core][export]") {
  // The checksum is that of the bytes 01 'a' 'b' 'c'.
  CHECK(wandb_log(std::vector<std::string>{"abc"}) == bytes_of("3a572642e1be00"
                                                               "a9209d53030001"
                                                               "616263"));
  CHECK(wandb_log({}) == bytes_of("3a572642e1be00"));
}

TEST_CASE("wandb log: records across the borders of blocks are those of wandb's writer",
          "[core][export]") {
  for (const json& log : reference().at("logs")) {
    std::vector<std::string> records;
    for (const json& size : log.at("sizes")) {
      std::string record;
      for (size_t j = 0; j < size.get<size_t>(); ++j) {
        record += static_cast<char>(7 * records.size() + j);
      }
      records.push_back(std::move(record));
    }
    const std::string file = wandb_log(records);
    INFO(log.at("sizes").dump());
    CHECK(file.size() == log.at("bytes"));
    CHECK(sha256_hex(file) == log.at("sha256"));
  }
}

TEST_CASE("wandb file: a line's bytes are those of wandb's writer", "[core][export]") {
  const TrackedLine line = {
      "main/rtn bits=3",
      {{"branch", nullptr}, {"quantizer", {{"id", "rtn"}}}},
      {{"error", 100, 0.125}, {"loss", 100, 4.5}, {"loss", 300, std::nan("")}}};
  CHECK(wandb_file("study", line) == bytes_of(reference().at("line")));
}

TEST_CASE("wandb file: an id follows from project and line", "[core][export]") {
  CHECK(wandb_run_id("a", "main/float") == wandb_run_id("a", "main/float"));
  CHECK(wandb_run_id("a", "main/float") != wandb_run_id("b", "main/float"));
  CHECK(wandb_run_id("a", "main/float") != wandb_run_id("a", "late/float"));
}

TEST_CASE("wandb: a second export of the same touches nothing, one of more replaces what changed",
          "[core][export]") {
  const TemporaryDir folder;
  std::vector<Record> records = tracked_records();
  const auto write = [&] {
    return export_to_wandb(folder.path(), "a/run", tracked_lines(records));
  };
  CHECK(write().written == 2);
  const std::vector<fs::path> files = files_below(folder.path());
  REQUIRE(files.size() == 2);
  for (const fs::path& file : files) {
    const std::string id = file.stem().string().substr(4);
    CHECK(file.parent_path().filename() == "offline-run-19700101_000000-" + id);
    std::ofstream(file.string() + ".synced");
  }
  CHECK(write().unchanged == 2);
  CHECK(files_below(folder.path()).size() == 4);
  records.push_back(tracked_record(300, false, "validation_loss", 2.5));
  const WandbOutcome more = write();
  CHECK(more.written == 1);
  CHECK(more.unchanged == 1);
  CHECK(files_below(folder.path()).size() == 3);  // what changed has to be sent again
  const std::string id = wandb_run_id("a_run", "main/float");
  const fs::path changed =
      folder.path() / ("offline-run-19700101_000000-" + id) / ("run-" + id + ".wandb");
  CHECK(read_file(changed) == wandb_file("a_run", tracked_lines(records)[0]));
}

}  // namespace quench::test
