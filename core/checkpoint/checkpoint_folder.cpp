#include "core/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/checkpoint/packed/dequantized_source.hpp"
#include "core/checkpoint/sharded_source.hpp"
#include "core/error.hpp"
#include "core/io/file.hpp"
#include "core/json/parse_json.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;
constexpr const char* kPreferred[] = {"model.safetensors", "model.safetensors.index.json",
                                      "pytorch_model.bin", "pytorch_model.bin.index.json"};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(), error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "a, b, c and 7 more", or "nothing".
std::string listing(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  if (names.size() > kShown) {
    out += fmt::format(" and {} more", names.size() - kShown);
  }
  return names.empty() ? "nothing" : out;
}

fs::path find_weights(const fs::path& folder) {
  const std::vector<std::string> names = names_in(folder);
  for (const char* name : kPreferred) {
    if (std::binary_search(names.begin(), names.end(), name)) {
      return folder / name;
    }
  }
  std::vector<std::string> archives;
  std::copy_if(names.begin(), names.end(), std::back_inserter(archives),
               [](const std::string& name) { return name.ends_with(".pth"); });
  if (archives.size() == 1) {
    return folder / archives.front();
  }
  if (archives.size() > 1) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} files end in .pth ({}): name the one that is meant",
         folder.string(), archives.size(), listing(archives));
  }
  fail(QUENCH_NOT_FOUND,
       "{}: no weights: looked for model.safetensors, model.safetensors.index.json, "
       "pytorch_model.bin, pytorch_model.bin.index.json and one *.pth; the folder has {}",
       folder.string(), listing(names));
}

// From config.json, or from the file that older writers keep beside it.
std::optional<QuantizationConfig> quantization_of(const fs::path& folder,
                                                  const std::string& config_json) {
  std::optional<QuantizationConfig> config =
      read_quantization_config(config_json, (folder / "config.json").string());
  const fs::path beside = folder / "quantize_config.json";
  std::error_code error;
  if (!config && fs::exists(beside, error)) {
    const std::string where = beside.string();
    config =
        parse_quantization_config(parse_json(read_file(beside, kMaxConfigBytes), where), where);
  }
  return config;
}

// Families refuse what they do not understand; what the source yields is a float checkpoint.
std::string without_quantization(const std::string& config_json) {
  if (config_json.empty()) {
    return config_json;
  }
  nlohmann::json config = parse_json(config_json, "config.json");
  config.erase("quantization_config");
  return config.dump(2);
}

}  // namespace

CheckpointFolder open_checkpoint_folder(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    fail(QUENCH_NOT_FOUND, "{}: no such checkpoint file or folder", printable(path.string(), 4096));
  }
  const bool is_folder = fs::is_directory(status);
  const fs::path weights = is_folder ? find_weights(path) : path;
  CheckpointFolder out;
  out.path = is_folder ? path : path.has_parent_path() ? path.parent_path() : fs::path(".");
  out.files.push_back(weights);
  if (weights.filename().string().ends_with(".index.json")) {
    auto sharded = std::make_shared<ShardedSource>(weights);
    out.files.insert(out.files.end(), sharded->files().begin(), sharded->files().end());
    out.source = std::move(sharded);
  } else {
    out.source = open_tensor_file(weights);
  }
  if (fs::exists(out.path / "config.json", error)) {
    out.config_json = read_file(out.path / "config.json", kMaxConfigBytes);
  }
  out.quantization = quantization_of(out.path, out.config_json);
  if (out.quantization) {
    out.source = std::make_shared<DequantizedSource>(out.source, *out.quantization);
    out.config_json = without_quantization(out.config_json);
  }
  return out;
}

std::optional<QuantizationConfig> stored_quantization(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  const fs::path config = folder / "config.json";
  return quantization_of(folder,
                         fs::exists(config, error) ? read_file(config, kMaxConfigBytes) : "");
}

}  // namespace quench
