#include "core/hub/fetch/wanted_files.hpp"

#include <catch2/catch.hpp>

#include "tests/support/throws.hpp"

using quench::HubFile;
using quench::parse_hub_spec;
using quench::Purpose;
using quench::wanted_files;
using quench::test::message_of;

namespace {

const std::string kIndex =
    R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})";

// The paths that are wanted, joined by spaces.
std::string chosen(const std::string& spec, const std::vector<std::string>& there,
                   Purpose purpose = Purpose::kModel, const std::string& index = kIndex) {
  std::vector<HubFile> all;
  for (const std::string& path : there) {
    all.push_back({path, 1, ""});
  }
  std::string out;
  for (const HubFile& file :
       wanted_files(parse_hub_spec(spec), purpose, all, [&](const HubFile&) { return index; })) {
    out += (out.empty() ? "" : " ") + file.path;
  }
  return out;
}

}  // namespace

TEST_CASE("wanted files: of weights, the kind that quench would open", "[fetch]") {
  struct Case {
    std::vector<std::string> there;
    std::string wanted;
  };
  const auto [there, wanted] = GENERATE(values<Case>({
      {{"config.json", "flax_model.msgpack", "model.safetensors", "pytorch_model.bin", "README.md"},
       "config.json model.safetensors"},
      {{"model-1.safetensors", "model-2.safetensors", "model-3.safetensors",
        "model.safetensors.index.json", "pytorch_model-00001-of-00002.bin",
        "pytorch_model.bin.index.json"},
       "model-1.safetensors model-2.safetensors model.safetensors.index.json"},
      {{"adapter_model.safetensors", "model.fp16.safetensors", "onnx/model.safetensors",
        "optimizer.safetensors", "pytorch_model.bin"},
       "pytorch_model.bin"},
      {{"pytorch_model.bin", "training_args.bin", "tokenizer.model"},
       "pytorch_model.bin tokenizer.model"},
      {{"ckpt_step_1.pth", "ckpt_step_2.pth", "log.txt"}, "ckpt_step_1.pth ckpt_step_2.pth"},
      {{"model.gguf", "README.md"}, "model.gguf"},
  }));
  CHECK(chosen("hf://org/name", there) == wanted);
}

TEST_CASE("wanted files: a named file, or folder, comes with what stands beside weights",
          "[fetch]") {
  const std::vector<std::string> there = {"a.Q4.gguf", "a.Q8.gguf", "config.json",
                                          "sub/x",     "sub/y",     "subway"};
  CHECK(chosen("hf://org/name/a.Q4.gguf", there) == "a.Q4.gguf config.json");
  CHECK(chosen("hf://org/name/sub", there) == "config.json sub/x sub/y");
  CHECK(chosen("hf://datasets/org/name/sub", there, Purpose::kAll) == "sub/x sub/y");
  CHECK(chosen("hf://datasets/org/name", {"a", "b/c"}, Purpose::kAll) == "a b/c");
  CHECK(message_of([&] { chosen("hf://org/name/no", there); }) ==
        "hf://org/name/no: no such file (there: a.Q4.gguf, a.Q8.gguf, config.json, sub/x, sub/y, "
        "subway)");
}

TEST_CASE("wanted files: a tokenizer comes without weights", "[fetch]") {
  CHECK(chosen("hf://org/name",
               {"config.json", "model.safetensors", "tokenizer.json", "vocab.json"},
               Purpose::kTokenizer) == "config.json tokenizer.json vocab.json");
}

TEST_CASE("wanted files: a repository without weights says what it has", "[fetch]") {
  CHECK(message_of([] {
          chosen("hf://org/name", {"a.Q4.gguf", "a.Q8.gguf"});
        }) ==
        "hf://org/name: no weights: looked for model.safetensors, pytorch_model.bin, .pth, .pt and "
        "a single .gguf (there: a.Q4.gguf, a.Q8.gguf); name a file with: quench fetch "
        "hf://org/name/FILE");
  CHECK_THAT(message_of([] {
               chosen("hf://org/name", {"config.json", "consolidated.safetensors"});
             }),
             Catch::Contains("there: config.json, consolidated.safetensors"));
}

TEST_CASE("wanted files: an index is read, and its shards must be there", "[fetch]") {
  CHECK(message_of([] {
          chosen("hf://org/name", {"model.safetensors.index.json", "model-1.safetensors"});
        }) ==
        "hf://org/name/model.safetensors.index.json: the shard 'model-2.safetensors' is not in "
        "the repository");
  CHECK(message_of([] {
          chosen("hf://org/name", {"model.safetensors.index.json"}, Purpose::kModel, "[]");
        }) ==
        "hf://org/name/model.safetensors.index.json: has no weight_map, wanted an index of shards");
}
