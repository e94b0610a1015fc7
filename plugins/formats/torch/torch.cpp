// torch: what torch.save writes (pytorch_model.bin, *.pth, *.pt), and folders of a training loop.
//
//   quench eval FOLDER/step1000.pth ...
//   checkpoints: {model: FOLDER}          # with ckpt_step_100.pth, ckpt_step_200.pth, ...
//
// A file is a zip archive with a pickle and one stored member per storage; nothing in it is
// executed. Of a training loop's file the state dict is read, under `state_dict`, `model` or
// `model_state_dict`; optimizer and schedule are left alone. A folder is pytorch_model.bin, else
// its only *.pth or *.pt; one with several is a trajectory, each file a checkpoint whose step and
// tokens are the numbers behind "step" and "tokens" in its name, or its only number. Weights that
// config.json calls quantized are other formats' business.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "formats/shared/failure.hpp"
#include "formats/torch/file_names.hpp"
#include "formats/torch_archive/torch_archive.hpp"

namespace kit = quench::kit;

namespace quench::formats {

namespace {

constexpr int32_t kByEnding = 50;
constexpr int32_t kByContent = 60;

// The file to open, or "".
std::string file_of(const kit::Place& place) {
  if (!place.file().empty()) {
    return place.file();
  }
  if (place.has("pytorch_model.bin")) {
    return "pytorch_model.bin";
  }
  const std::vector<std::string> archives = archives_of(place);
  const bool sharded = place.has("pytorch_model.bin.index.json");  // which the host follows
  return archives.size() == 1 && !sharded ? archives.front() : "";
}

bool says_quantized(const kit::Place& place) {
  const bool older = place.has("quantize_config.json");
  if (place.config().empty()) {
    return older;
  }
  const kit::Json config(place.config().data(), place.config().size());
  return older || config.has("/quantization_config");
}

struct Torch {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::Place& place, std::string& why) {
    const std::string name = file_of(place);
    if (name.empty()) {
      const std::vector<std::string> archives = archives_of(place);
      if (archives.size() > 1) {
        why = fmt::format("{} files end in .pth or .pt ({}): name the one that is meant",
                          archives.size(), listing(archives));
      }
      return 0;
    }
    if (says_quantized(place)) {
      return 0;
    }
    if (is_archive_name(name) || name.ends_with(".bin")) {
      return kByEnding;
    }
    return place.head(name, 4) == "PK\x03\x04" ? kByContent : 0;
  }

  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    return std::make_unique<TorchArchive>(place, file_of(place));
  }

  static std::vector<kit::CheckpointEntry> list(const kit::Place& place) {
    std::vector<kit::CheckpointEntry> out;
    if (!file_of(place).empty()) {
      return out;
    }
    for (const std::string& name : archives_of(place)) {
      out.push_back(entry_of(name));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.step < b.step; });
    return out;
  }
};

}  // namespace

}  // namespace quench::formats

QUENCH_MODULE("quench.torch", "0.1.0",
              kit::format<quench::formats::Torch>(
                  {.id = "torch",
                   .version = "0.1.0",
                   .summary = "Reads what torch.save writes: weights and training checkpoints.",
                   .reference = "PyTorch, torch/serialization.py"}))
