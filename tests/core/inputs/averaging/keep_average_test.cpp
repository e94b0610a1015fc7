#include "core/inputs/averaging/keep_average.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/core/inputs/averaging/given_source.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

AveragingCell soup() {
  const PluginDescription& plugin = built_catalog().require("averaging", "soup");
  return {&plugin, nlohmann::json::object(), "soup", ""};
}

void write_tensors(const fs::path& file, const TensorSource& tensors) {
  SafetensorsWriter writer(file);
  for (uint64_t i = 0; i < tensors.count(); ++i) {
    writer.declare(tensors.info(i));
  }
  for (uint64_t i = 0; i < tensors.count(); ++i) {
    std::vector<char> bytes(*element_count(tensors.info(i).shape) *
                            dtype_size(tensors.info(i).dtype));
    tensors.read(i, 0, *element_count(tensors.info(i).shape), bytes.data());
    writer.write(bytes.data(), bytes.size());
  }
  writer.finish();
}

// A folder with weights of a few kinds; `value` is what its large tensor holds.
KeptMember member(const TemporaryDir& root, const std::string& name, float value,
                  const std::string& config = R"({"rope_theta": 1, "torch_dtype": "float16"})") {
  root.write(name + "/config.json", config);
  root.write(name + "/tokenizer.json", "{\"of\": \"" + name + "\"}");
  GivenSource tensors;
  tensors.tensor("z.large", kFloat32, {2, 200'000}, std::vector<float>(400'000, value));
  tensors.tensor("a.small", kFloat32, {3}, std::vector<float>{value, 1, -value});
  tensors.tensor("m.empty", kFloat32, {0, 4}, std::vector<float>{});
  tensors.tensor("m.count", kInt64, {1}, std::vector<int64_t>{static_cast<int64_t>(value)});
  write_tensors(root / (name + "/model.safetensors"), tensors);
  return {open_safetensors_folder(root / name), name, "", name, {}, {}};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<float> values(const TensorSource& tensors, const std::string& name) {
  return read_float32(tensors, tensors.index_of(name));
}

}  // namespace

TEST_CASE("keep_average: the folder is a checkpoint whose weights are the average",
          "[core][averaging]") {
  const TemporaryDir root;
  const std::vector<KeptMember> members = {member(root, "one", 1), member(root, "two", 4)};
  for (const uint32_t threads : {1U, 3U}) {
    KeepOptions options;
    options.threads = threads;
    const fs::path out = root / ("out" + std::to_string(threads));
    const KeptAverage kept = keep_average(built_catalog(), soup(), members, out, options);
    CHECK(names_in(out) == std::vector<std::string>{"README.md", "config.json", "model.safetensors",
                                                    "quench.json", "tokenizer.json"});
    const CheckpointFolder opened = open_safetensors_folder(out);
    CHECK(opened.source->count() == 4);
    CHECK(differences(values(*opened.source, "z.large"), std::vector<float>(400'000, 2.5F)) == "");
    CHECK(values(*opened.source, "a.small") == std::vector<float>{2.5F, 1, -2.5F});
    int64_t count = 0;
    opened.source->read(opened.source->index_of("m.count"), 0, 1, &count);
    CHECK(count == 4);
    CHECK(kept.bytes == 400'003 * 4 + 8);
    CHECK(kept.member_hashes == std::vector<std::string>{content_hash(*members[0].folder.source),
                                                         content_hash(*members[1].folder.source)});
    CHECK(nlohmann::json::parse(opened.config_json) ==
          nlohmann::json{{"rope_theta", 1}, {"torch_dtype", "float32"}});
    CHECK(read_file(out / "tokenizer.json") == "{\"of\": \"two\"}");
  }
}

TEST_CASE("keep_average: the card names scheme, members with their hashes, and the manifest",
          "[core][averaging]") {
  const TemporaryDir root;
  std::vector<KeptMember> members = {member(root, "one", 1), member(root, "two", 4)};
  members[0].location = "a|b`c";
  members[0].step = 100;
  KeepOptions options;
  options.manifest = "name: x\n# ```\n";
  const KeptAverage kept = keep_average(built_catalog(), soup(), members, root / "out", options);
  const std::string card = read_file(root / "out/README.md");
  CHECK(card.starts_with("---\n"));
  CHECK(card.find("| `a\\|b'c` |  | 100 |  | `" + kept.member_hashes[0] + "` |") !=
        std::string::npos);
  CHECK(card.find("| `two` |  |  |  | `" + kept.member_hashes[1] + "` |") != std::string::npos);
  CHECK(card.find(kept.identity) != std::string::npos);
  CHECK(card.find(soup().plugin->sha256) != std::string::npos);
  CHECK(card.find("````yaml\nname: x\n# ```\n````\n") != std::string::npos);
}

TEST_CASE("keep_average: the card names the hub's repositories of its members, if all have one",
          "[core][averaging]") {
  const TemporaryDir root;
  std::vector<KeptMember> members = {member(root, "one", 1), member(root, "two", 4)};
  members[0].location = "hf://org/small@step1";
  keep_average(built_catalog(), soup(), members, root / "half", {});
  CHECK_THAT(read_file(root / "half/README.md"), !Catch::Contains("base_model"));
  members[1].location = "hf://org/small@step2";
  keep_average(built_catalog(), soup(), members, root / "both", {});
  CHECK_THAT(read_file(root / "both/README.md"),
             Catch::StartsWith("---\nbase_model:\n- \"org/small\"\nbase_model_relation: merge\n"
                               "library_name: transformers\n"));
}

TEST_CASE("keep_average: more than a shard holds is split, with an index", "[core][averaging]") {
  const TemporaryDir root;
  KeepOptions options;
  options.shard_bytes = 1000;
  options.dtype = kBFloat16;
  keep_average(built_catalog(), soup(), {member(root, "one", 1), member(root, "two", 4)},
               root / "out", options);
  CHECK(names_in(root / "out") ==
        std::vector<std::string>{"README.md", "config.json", "model-00001-of-00002.safetensors",
                                 "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                                 "quench.json", "tokenizer.json"});
  const CheckpointFolder opened = open_safetensors_folder(root / "out");
  CHECK(differences(values(*opened.source, "z.large"), std::vector<float>(400'000, 2.5F)) == "");
  CHECK(values(*opened.source, "a.small") == std::vector<float>{2.5F, 1, -2.5F});
  CHECK(same_dtype(opened.source->info(opened.source->index_of("a.small")).dtype, kBFloat16));
}

TEST_CASE("keep_average: what is there already stays as it is", "[core][averaging]") {
  const TemporaryDir root;
  const std::vector<KeptMember> members = {member(root, "one", 1), member(root, "two", 4)};
  root.write("out/mine", "x");
  const std::vector<std::string> before = names_in(root.path());
  CHECK(message_of([&] { keep_average(built_catalog(), soup(), members, root / "out", {}); },
                   root.path()) == "out: already exists; nothing is overwritten");
  CHECK(message_of([&] { keep_average(built_catalog(), soup(), members, root / "out/", {}); },
                   root.path()) == "out: already exists; nothing is overwritten");
  CHECK(names_in(root / "out") == std::vector<std::string>{"mine"});
  CHECK(names_in(root.path()) == before);
}

TEST_CASE("keep_average: a failure or a stop on the way leaves nothing", "[core][averaging]") {
  const TemporaryDir root;
  std::vector<KeptMember> members = {member(root, "one", 1), member(root, "two", 4)};
  const std::vector<std::string> before = names_in(root.path());
  KeepOptions options;
  options.threads = 2;
  options.on_progress = [](uint64_t, uint64_t) { fail(QUENCH_RESOURCE_EXHAUSTED, "full"); };
  CHECK(message_of([&] {
          keep_average(built_catalog(), soup(), members, root / "out", options);
        }) == "full");
  CHECK(names_in(root.path()) == before);
  options.on_progress = [](uint64_t, uint64_t) { HostServices::instance().cancel_flag() = true; };
  CHECK(code_of([&] { keep_average(built_catalog(), soup(), members, root / "out", options); }) ==
        QUENCH_CANCELLED);
  HostServices::instance().cancel_flag() = false;
  CHECK(names_in(root.path()) == before);
  fs::resize_file(root / "one/model.safetensors", 100'000);
  CHECK(code_of([&] { keep_average(built_catalog(), soup(), members, root / "out", {}); }) ==
        QUENCH_DATA_LOSS);
  CHECK(names_in(root.path()) == before);
}

TEST_CASE("keep_average: members that are not what the seal says are not averaged",
          "[core][averaging]") {
  const TemporaryDir root;
  const std::vector<KeptMember> members = {member(root, "one", 1), member(root, "two", 4)};
  KeepOptions options;
  options.made_from = {{"members", "as they were"}};
  options.member_hashes = {content_hash(*members[0].folder.source), std::string(64, '0')};
  CHECK(message_of([&] {
          keep_average(built_catalog(), soup(), members, root / "out", options);
        }) == "two: changed during reading");
  CHECK_FALSE(fs::exists(root / "out"));
}

TEST_CASE("keep_average: configs that differ are told of", "[core][averaging]") {
  const TemporaryDir root;
  std::string said;  // about configs: a user without a home is told of that, too
  HostServices::instance().set_log_sink([&](int, std::string_view, std::string_view line) {
    said += line.find("configs") != std::string_view::npos ? line : "";
  });
  const KeptMember one = member(root, "one", 1);
  keep_average(built_catalog(), soup(),
               {one, member(root, "two", 4, R"({"rope_theta": 1, "_name_or_path": "x"})")},
               root / "same", {});
  CHECK(said.empty());
  keep_average(built_catalog(), soup(),
               {one, member(root, "three", 4, R"({"rope_theta": 2, "more": 1})")}, root / "out",
               {});
  HostServices::instance().set_log_sink(nullptr);
  CHECK(said == "the members' configs differ in more, rope_theta; keeping the last member's");
}

}  // namespace quench::test
