#include "tests/support/template_checkpoint.hpp"

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench::test {

void write_template_checkpoint(const std::filesystem::path& folder, int64_t width) {
  constexpr int64_t kVocabulary = 256;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json")
      << R"({"model_type": "template_model", "vocab_size": 256, "hidden_size": )" << width
      << R"(, "num_hidden_layers": 2})"
      << "\n";
  const std::vector<std::pair<std::string, int64_t>> tensors = {{"embed.weight", kVocabulary},
                                                                {"head.weight", kVocabulary},
                                                                {"blocks.0.mix.weight", width},
                                                                {"blocks.1.mix.weight", width}};
  nlohmann::json header = nlohmann::json::object();
  std::vector<float> data;
  uint64_t state = 1;
  for (const auto& [name, rows] : tensors) {
    const size_t begin = data.size() * sizeof(float);
    for (int64_t i = 0; i < rows * width; ++i) {
      state = (state * 1103515245 + 12345) % 2147483648;
      data.push_back(static_cast<float>(static_cast<double>(state) / 2147483648.0 - 0.5));
    }
    header[name] = {{"dtype", "F32"},
                    {"shape", {rows, width}},
                    {"data_offsets", {begin, data.size() * sizeof(float)}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::ofstream out(folder / "model.safetensors", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text;
  out.write(reinterpret_cast<const char*>(data.data()),
            static_cast<std::streamsize>(data.size() * sizeof(float)));
}

}  // namespace quench::test
