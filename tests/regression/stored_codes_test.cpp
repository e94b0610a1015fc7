// Models rebuilt from the reference's stored codes: what a checkpoint of dequantized weights
// measures.
#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/regression/overlay_source.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

// scales[:, g_idx] · (codes − zeros[:, g_idx]) of the linear called `name`, [out, in].
std::vector<float> dequantized(const SafetensorsFile& file, const std::string& name) {
  const auto codes = file.elements<uint8_t>(name + ".codes");
  const auto scales = file.elements<float>(name + ".scales");
  const auto zeros = file.elements<int32_t>(name + ".zeros");
  const auto group = file.elements<int32_t>(name + ".g_idx");
  const size_t groups = static_cast<size_t>(file.shape(name + ".scales").at(1));
  const size_t in = group.size();
  std::vector<float> out(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t at = i / in * groups + static_cast<size_t>(group[i % in]);
    out[i] = static_cast<float>(static_cast<double>(scales[at]) * (codes[i] - zeros[at]));
  }
  return out;
}

void write_source(const TensorSource& source, const fs::path& path) {
  SafetensorsWriter writer(path);
  for (uint64_t i = 0; i < source.count(); ++i) {
    writer.declare(source.info(i));
  }
  for (uint64_t i = 0; i < source.count(); ++i) {
    const uint64_t elements = element_count(source.info(i).shape).value();
    std::vector<std::byte> bytes(elements * dtype_size(source.info(i).dtype));
    source.read(i, 0, elements, bytes.data());
    writer.write(bytes.data(), bytes.size());
  }
  writer.finish();
}

// A checkpoint folder like `base` with the linears of `codes` in place of its own.
void write_checkpoint(const fs::path& base, const SafetensorsFile& codes,
                      const std::vector<std::string>& linears, const fs::path& folder) {
  std::map<std::string, std::vector<float>> replaced;
  for (const std::string& name : linears) {
    replaced[name + ".weight"] = dequantized(codes, name);
  }
  const OverlaySource source(open_safetensors_folder(base).source, std::move(replaced));
  write_source(source, folder / "model.safetensors");
  fs::copy_file(base / "config.json", folder / "config.json");
  fs::copy_file(base / "tokenizer.json", folder / "tokenizer.json");
}

}  // namespace

TEST_CASE("eval: models rebuilt from stored codes have the loss of the reference", "[regression]") {
  const auto folder = fixture("quantization");
  const auto verified = fixture("verify.json");
  const auto base = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  const nlohmann::json losses = read_json(verified);
  Worst worst;
  size_t seen = 0;
  const nlohmann::json settings = read_json(folder / "final_model.json");
  for (const nlohmann::json& setting : settings.at("results")) {
    if (!setting.contains("codes_file")) {
      continue;
    }
    const std::string id = setting.at("id");
    const SafetensorsFile codes(folder / setting.at("codes_file").get<std::string>());
    std::vector<std::string> linears;
    for (const nlohmann::json& layer : setting.at("layers")) {
      linears.push_back(layer.at("layer"));
    }
    const TemporaryDir rebuilt;
    write_checkpoint(base, codes, linears, rebuilt.path());
    const nlohmann::json document =
        quench_json({"eval", rebuilt.path().string(), "--metric", text.metric()});
    worst.see(
        relative(document.at("records").at(0).at("value"), losses.at("ce_from_stored_codes " + id)),
        id);
    ++seen;
  }
  worst.print("loss from stored codes, relative difference");
  CHECK(seen == 7);
  CHECK(worst.value() < 1e-6);
}

}  // namespace quench::test
