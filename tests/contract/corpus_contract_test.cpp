// Those of this build, each held to what every corpus promises, on a small file.
#include <catch2/catch.hpp>
#include <string>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// What a corpus of that id reads here: a small file of two documents or more, or nothing.
nlohmann::json parameters_for(const std::string& id, const TemporaryDir& dir) {
  if (id == "text") {
    return {{"path", dir.write("a.txt", "one\ntwo\n\u20ac\n")}, {"split", "line"}};
  }
  if (id == "jsonl") {
    return {{"path", dir.write("a.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"two\"}\n")}};
  }
  if (id == "tokens") {
    const std::string header =
        R"({"ids": {"dtype": "U8", "shape": [3, 2], "data_offsets": [0, 6]}})";
    const std::string length = {static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
    return {{"path", dir.write("a.safetensors", length + header + "abcdef")}};
  }
  return nlohmann::json::object();
}

}  // namespace

TEST_CASE("every corpus keeps what corpora promise", "[contract][corpora]") {
  for (const quench_item* item : items_of(CORPUS_LIBRARIES, "corpus")) {
    const TemporaryDir dir;
    BuiltPlugin plugin(*item);
    plugin.use_settings(parameters_for(item->id, dir));
    check_promises(plugin);
  }
}

}  // namespace quench::test
