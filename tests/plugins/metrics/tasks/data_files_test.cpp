#include "metrics/tasks/data_files.hpp"

#include <catch2/catch.hpp>

#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

using quench::tasks::Definition;
using quench::tasks::find_split;
using quench::tasks::Split;
using quench::test::TemporaryDir;

namespace {

// A hub whose only repository lies in `folder`; without one, nothing is found.
struct Hub {
  std::string folder;
  quench_record_host table = {sizeof table, this, locate, nullptr, nullptr, nullptr, nullptr};
  quench::kit::RecordHost host{table};

  static quench_status locate(void* context, const char* location, const char** path,
                              quench_error* error) noexcept {
    const auto& self = *static_cast<Hub*>(context);
    if (self.folder.empty() || std::string(location) != "hf://datasets/o/n") {
      return quench::kit::report(error, QUENCH_NOT_FOUND,
                                 (std::string(location) + " is not here").c_str());
    }
    *path = self.folder.c_str();
    return QUENCH_OK;
  }
};

Definition task() {
  Definition out;
  out.name = "t";
  out.data = {{"a/b", "a"}, {{"test", {"all.json"}}}, "o/n", "conf"};
  return out;
}

std::string found(const Split& split, const TemporaryDir& folder) {
  std::string out = split.name + ":";
  for (const auto& file : split.files) {
    out += " " + file.corpus + "=" + file.path.substr(folder.path().string().size() + 1);
  }
  return out;
}

}  // namespace

TEST_CASE("task data: every layout in which a split is kept is found", "[metrics][tasks]") {
  const TemporaryDir folder;
  const Hub hub;
  const auto look = [&](const std::vector<std::string>& names) {
    return found(find_split(task(), names, folder.path().string(), hub.host), folder);
  };
  folder.write("all.json", "[]");
  CHECK(look({"test"}) == "test: =all.json");
  folder.write("a/validation.jsonl", "");
  CHECK(look({"validation", "test"}) == "validation: jsonl=a/validation.jsonl");
  folder.write("a/b/validation-00001-of-00002.parquet", "");
  folder.write("a/b/validation-00000-of-00002.parquet", "");
  folder.write("a/b/validation2-00000.parquet", "");
  CHECK(look({"validation"}) ==
        "validation: arrow=a/b/validation-00000-of-00002.parquet "
        "arrow=a/b/validation-00001-of-00002.parquet");
  folder.write("a/b/validation-00000-of-00002.jsonl", "");  // the same records once more
  CHECK(look({"validation"}) ==
        "validation: arrow=a/b/validation-00000-of-00002.parquet "
        "arrow=a/b/validation-00001-of-00002.parquet");
  folder.write("a/b/validation/0.parquet", "");
  CHECK(look({"validation"}) == "validation: arrow=a/b/validation/0.parquet");
  folder.write("a/b/validation/state.json", "{}");
  CHECK(look({"validation"}) == "validation: arrow=a/b/validation");
  CHECK(look({"train", "validation"}) == "validation: arrow=a/b/validation");
}

TEST_CASE("task data: a copy of a repository of the hub is found as it is", "[metrics][tasks]") {
  const TemporaryDir folder;
  const Hub hub;
  folder.write("a/README.md", "");
  folder.write("a/data/test-00000-of-00001-0f1e2d3c.parquet", "");
  CHECK(found(find_split(task(), {"test"}, folder.path().string(), hub.host), folder) ==
        "test: arrow=a/data/test-00000-of-00001-0f1e2d3c.parquet");
}

TEST_CASE("task data: of numbered files all must be there", "[metrics][tasks]") {
  const TemporaryDir folder;
  const Hub hub;
  const auto refusal = [&] {
    try {
      find_split(task(), {"test"}, folder.path().string(), hub.host);
      return std::string();
    } catch (const quench::kit::Error& error) {
      CHECK(error.code() == QUENCH_DATA_LOSS);
      return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
  };
  folder.write("a/test-00000-of-00003.parquet", "");
  folder.write("a/test-00002-of-00003.parquet", "");
  CHECK(refusal() == "a: test: got 2 of 3 pieces, piece 1 (from 0) is missing");
  folder.write("a/test-00001-of-00003.parquet", "");
  CHECK(refusal().empty());
  folder.write("a/test-00001-of-00003-abc.parquet", "");
  CHECK(refusal() == "a: test: got 4 files for 3 pieces, wanted one for each");
  folder.write("a/test-00003-of-00004.parquet", "");
  CHECK(refusal() == "a: test: got pieces of 3 and of 4, wanted one data set");
  folder.write("a/b/test/0000.parquet", "");
  folder.write("a/b/test/0002.parquet", "");
  CHECK(refusal() == "a/b/test: numbered files: got 2 of 3 pieces, piece 1 (from 0) is missing");
  folder.write("a/b/test/0001.parquet", "");
  CHECK(refusal().empty());
}

TEST_CASE("task data: without a folder the hub's cache is looked up", "[metrics][tasks]") {
  const TemporaryDir folder;
  folder.write("snapshot/conf/test-00000-of-00001.parquet", "");
  folder.write("snapshot/data/train-00000-of-00001.parquet", "");
  Hub hub;
  hub.folder = (folder.path() / "snapshot").string();
  CHECK(found(find_split(task(), {"test"}, "", hub.host), folder) ==
        "test: arrow=snapshot/conf/test-00000-of-00001.parquet");
  CHECK(found(find_split(task(), {"train"}, "", hub.host), folder) ==
        "train: arrow=snapshot/data/train-00000-of-00001.parquet");
}

TEST_CASE("task data: a split that is not there is named with the places", "[metrics][tasks]") {
  const TemporaryDir folder;
  const Hub hub;
  CHECK_THROWS_WITH(find_split(task(), {"test", "validation"}, "/nowhere", hub.host),
                    "task t: no split test, validation below /nowhere/a/b, /nowhere/a");
  CHECK_THROWS_WITH(find_split(task(), {"test"}, "", hub.host),
                    "task t: its data is not in the cache; get it with: quench fetch "
                    "hf://datasets/o/n");
}

TEST_CASE("task data: records of a JSON file keep the file's order", "[metrics][tasks]") {
  const TemporaryDir folder;
  using Records = std::vector<std::string>;
  const auto records = [&](const std::string& text) {
    return quench::tasks::json_records(folder.write("r.json", text).string());
  };
  CHECK(records(R"({"9": {"q": "}\"{", "c": [["x"]]}, "1": {"q": "b"}})") ==
        Records{R"({"q": "}\"{", "c": [["x"]]})", R"({"q": "b"})"});
  CHECK(records(R"([{"a": 1}, {"a": [2]}])") == Records{R"({"a": 1})", R"({"a": [2]})"});
  CHECK(records("[]").empty());
  CHECK(records("{\"a\": 1}\n\n{\"a\": \"}\"}\r\n") == Records{R"({"a": 1})", "{\"a\": \"}\"}\r"});
  CHECK_THROWS_WITH(records("{\"a\": 1}\n\n{\"a\": }\n"), Catch::Contains("r.json:3: not JSON: "));
  CHECK_THROWS_WITH(records("{\"a\": 1}\n[2]\n"), Catch::EndsWith("r.json:2: wanted an object"));
  CHECK_THROWS_WITH(records("[{\"a\": 1}, [2], 3]"),
                    Catch::EndsWith("r.json: wanted records, got 2 members that are not objects"));
  CHECK_THROWS_WITH(records("3"), Catch::Contains("wanted a list or an object of records"));
  CHECK_THROWS_WITH(records(R"({"a": {)"), Catch::Contains("r.json: not JSON: "));
  CHECK_THROWS_WITH(quench::tasks::json_records(folder.path() / "absent.json"),
                    Catch::Contains("cannot be read"));
}
