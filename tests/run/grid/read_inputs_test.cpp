#include "run/grid/read_inputs.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/base/io/sha256.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "tests/support/temporary.hpp"

using nlohmann::json;
using quench::Fingerprints;
using quench::OpenedInputs;
using quench::ReadMemory;
namespace fs = std::filesystem;

namespace {

// Parts of a metric and of a corpus that it reads; `read` belongs to the corpus, if it is not null.
json parts_with(const json& read) {
  json corpus = {{"id", "words"}, {"params", {{"read", "a parameter of that name"}}}};
  if (!read.is_null()) {
    corpus["read"] = read;
  }
  return {{"seed", 7},
          {"metric", {{"id", "asks"}, {"params", json::object()}, {"data", {corpus}}}}};
}

quench::PluginDescription plugin(const std::string& kind, const std::string& id) {
  quench::PluginDescription out;
  out.kind = kind;
  out.id = id;
  out.module_id = "read_inputs_test." + id;
  return out;
}

}  // namespace

TEST_CASE("read inputs: what was read the last time is looked for as it is now", "[run]") {
  const quench::test::TemporaryDir folder;
  folder.write("file", "one");
  const std::string file = fs::canonical(folder / "file").string();
  const auto parts_of = [&](const std::string& content, const std::string& gone) {
    return parts_with({{"files", {{file, quench::sha256_hex(content)}, {file + ".gone", gone}}},
                       {"variables", {{"QUENCH_NO_SUCH", quench::kAbsentInput}}}});
  };
  const Fingerprints fingerprints("");
  ReadMemory memory(fingerprints);
  json now = parts_with(nullptr);
  memory.add_to(now);
  CHECK(now == parts_with(nullptr));

  memory.learn(parts_of("one", quench::kAbsentInput));
  memory.add_to(now);
  CHECK(now == parts_of("one", quench::kAbsentInput));

  folder.write("file", "two");
  folder.write("file.gone", "there");
  now = parts_with(nullptr);
  memory.add_to(now);
  CHECK(now == parts_of("two", quench::sha256_hex("there")));

  json other = parts_with(nullptr);
  other["seed"] = 8;  // another cell
  const json before = other;
  memory.add_to(other);
  CHECK(other == before);
}

TEST_CASE("read inputs: the next run knows it from the home folder", "[run]") {
  const quench::test::TemporaryDir folder;
  const Fingerprints fingerprints(folder / "home");
  const json read = {{"files", {{"/no/such/file", quench::kAbsentInput}}}};
  ReadMemory(fingerprints).learn(parts_with(read));
  json now = parts_with(nullptr);
  ReadMemory(fingerprints).add_to(now);
  CHECK(now == parts_with(read));
}

TEST_CASE("read inputs: the parts get what the key has not anyway", "[run]") {
  const quench::test::TemporaryDir folder;
  for (const char* name : {"declared", "handed", "besides"}) {
    folder.write(name, name);
  }
  quench::PluginDescription words = plugin("corpus", "words");
  const auto path = [&](const char* name) { return fs::canonical(folder / name).string(); };
  words.declared[path("declared")] = quench::sha256_hex("declared");
  const json parameters = json::object();
  {
    const quench::PluginCall call("corpus words", "next", {nullptr, -1, "{}"});
    for (const char* name : {"declared", "handed", "besides"}) {
      OpenedInputs::instance().note(words.module_id, path(name), false);
    }
  }
  const quench::ForeignUse use = {
      &words, parameters, json::json_pointer("/metric/data/0"), {folder / "handed"}};
  CHECK(quench::with_reads(parts_with({{"files", {{"/earlier", "0"}}}}), {use}) ==
        parts_with({{"files", {{path("besides"), quench::sha256_hex("besides")}}}}));
}
