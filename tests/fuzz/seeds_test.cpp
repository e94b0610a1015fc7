// Every fuzz target over its seeds and over what one cut or one changed byte makes of them: so that
// targets compile, and seeds reach what they are for, without a fuzzer. A target that finds its
// promise broken aborts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config/yaml.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/hub/fetch/hub_replies.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/record.hpp"
#include "formats/dcp/metadata.hpp"
#include "formats/torch_archive/pickle.hpp"
#include "formats/torch_archive/torch_state.hpp"
#include "tests/fuzz/packed_place.hpp"
#include "tests/plugins/formats/torch/archive_source.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"
#include "tokenizers/tokenizer_json/pipeline.hpp"

extern "C" {
int fuzz_gguf(const uint8_t* data, size_t size);
int fuzz_hub(const uint8_t* data, size_t size);
int fuzz_json(const uint8_t* data, size_t size);
int fuzz_packed(const uint8_t* data, size_t size);
int fuzz_pickle(const uint8_t* data, size_t size);
int fuzz_record(const uint8_t* data, size_t size);
int fuzz_safetensors(const uint8_t* data, size_t size);
int fuzz_sentencepiece(const uint8_t* data, size_t size);
int fuzz_tokenizer(const uint8_t* data, size_t size);
int fuzz_torch_zip(const uint8_t* data, size_t size);
int fuzz_wire(const uint8_t* data, size_t size);
int fuzz_yaml(const uint8_t* data, size_t size);
}

namespace quench::test {

namespace {

using Target = int (*)(const uint8_t*, size_t);

std::filesystem::path seeds() {
  return source_dir() / "tests/fuzz/seeds";
}

std::string seed(const std::string& name) {
  return read_file(seeds() / name);
}

// The target over `bytes`, over up to `kCuts` beginnings of it, and over as many copies with one
// byte changed.
void run_damaged(Target target, const std::string& bytes) {
  constexpr size_t kCuts = 400;
  const auto run = [target](std::string input) {
    REQUIRE(target(reinterpret_cast<const uint8_t*>(input.data()), input.size()) == 0);
  };
  run(bytes);
  const size_t step = std::max<size_t>(1, bytes.size() / kCuts);
  for (size_t at = 0; at < bytes.size(); at += step) {
    run(bytes.substr(0, at));
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at / step % 8)));
    run(changed);
    changed[at] = '\xFF';
    run(changed);
  }
}

}  // namespace

TEST_CASE("fuzz targets: seeds and damaged seeds break no promise", "[fuzz][bad]") {
  const auto [folder, target] =
      GENERATE(table<std::string, Target>({{"tests/fuzz/seeds/gguf", fuzz_gguf},
                                           {"tests/fuzz/seeds/hub", fuzz_hub},
                                           {"tests/fuzz/seeds/json", fuzz_json},
                                           {"tests/fuzz/seeds/packed", fuzz_packed},
                                           {"tests/fuzz/seeds/pickle", fuzz_pickle},
                                           {"tests/fuzz/seeds/record", fuzz_record},
                                           {"tests/fuzz/seeds/safetensors", fuzz_safetensors},
                                           {"tests/data/sentencepiece", fuzz_sentencepiece},
                                           {"tests/fuzz/seeds/tokenizer", fuzz_tokenizer},
                                           {"tests/fuzz/seeds/torch_zip", fuzz_torch_zip},
                                           {"tests/fuzz/seeds/wire", fuzz_wire},
                                           {"tests/fuzz/seeds/yaml", fuzz_yaml}}));
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / folder)) {
    const auto type = entry.path().extension();
    if (type != ".jsonl" && type != ".py") {
      CAPTURE(entry.path().string());
      run_damaged(target, read_file(entry.path()));
      ++count;
    }
  }
  CHECK(count > 0);
}

TEST_CASE("fuzz seeds: each is what its reader takes", "[fuzz]") {
  CHECK(parse_json(seed("json/values.json"), "seed").size() == 3);
  CHECK(read_references(seed("hub/references").substr(1), "seed").size() == 3);
  std::vector<HubFile> files;
  read_tree(seed("hub/tree").substr(1), "seed", files);
  CHECK(files.size() == 2);
  CHECK(read_commit(seed("hub/commit").substr(1), "seed") == std::string(40, 'a'));
  CHECK_THAT(next_page(seed("hub/link").substr(1)), Catch::EndsWith("cursor=Zm9v"));
  const std::string state = seed("pickle/state.pkl");  // the graph's texts lie in it
  const formats::PickleGraph graph = formats::read_pickle(state, "seed");
  CHECK(formats::find_state(graph, "seed").size() == 4);
  CHECK_THAT(format_message_of([] { formats::read_pickle(seed("pickle/system.pkl"), "seed"); }),
             Catch::Contains("'os.system', refused"));
  CHECK(formats::read_metadata(seed("pickle/parts.metadata"), "seed").size() == 7);
  CHECK_THAT(
      format_message_of([] { formats::read_metadata(seed("pickle/system.metadata"), "seed"); }),
      Catch::Contains("'posix.system', refused"));
  for (std::istringstream lines(seed("record/two")); lines;) {
    std::string line;
    if (std::getline(lines, line)) {
      CHECK(record_from_json(parse_json(line, "seed"), "seed").metric == "validation_loss");
    }
  }
  CHECK(parse_yaml(seed("yaml/manifest.yaml"), "seed").is_mapping());
  CHECK(SafetensorsSource(seeds() / "safetensors/two.safetensors").count() == 2);
  for (const auto& [name, format] :
       {std::pair{"packed/gptq.bin", "gptq"}, std::pair{"packed/awq.bin", "awq"}}) {
    CAPTURE(name);
    const std::string all = seed(name);
    const size_t cut = all.find('\xFF');
    const TemporaryDir folder;
    const fuzz::PackedPlace place(all.substr(0, cut), folder.write("seed", all.substr(cut + 1)));
    size_t taken = 0;
    for (const quench_item* item : fuzz::packed_formats()) {
      const auto& table = *static_cast<const quench_format_table*>(item->table);
      quench_error error{sizeof(quench_error), 0, {}};
      if (table.probe(place.get(), &error) == 0) {
        continue;
      }
      CHECK(std::string(item->id) == format);
      quench_checkpoint* checkpoint = nullptr;
      REQUIRE(table.open(place.get(), "{}", 2, &checkpoint, &error) == QUENCH_OK);
      quench_checkpoint_contents contents{};
      contents.struct_size = sizeof contents;
      REQUIRE(table.contents(checkpoint, &contents, &error) == QUENCH_OK);
      REQUIRE(contents.tensors->count(contents.tensors) == 1);
      quench_tensor_info info{};
      info.struct_size = sizeof info;
      REQUIRE(contents.tensors->info(contents.tensors, 0, &info, &error) == QUENCH_OK);
      CHECK(std::vector<int64_t>(info.shape, info.shape + info.dimensions) ==
            std::vector<int64_t>{8, 8});
      table.close(checkpoint);
      ++taken;
    }
    CHECK(taken == 1);
  }
  CHECK(ArchiveSource(seeds() / "torch_zip/state.pt").count() == 4);
  kit::current_host = HostServices::instance().host_for("fuzz");
  const auto ids = [](const std::string& name) {
    const std::string all = seed(name);
    const size_t cut = all.find('\xFF');
    return tokenizers::JsonPipeline(all.substr(0, cut), "seed").encode(all.substr(cut + 1), true);
  };
  CHECK(ids("tokenizer/byte_level.json") == std::vector<int32_t>{5, 3, 4, 5, 3});
  CHECK(ids("tokenizer/sentence_piece.json") == std::vector<int32_t>{5, 1, 2, 0});
}

}  // namespace quench::test
