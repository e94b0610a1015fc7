#include "core/run/export_row.hpp"

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/run/weights/export_weights.hpp"

namespace quench {

std::filesystem::path owed_export(const Experiment& experiment, const WeightsCell& weights,
                                  const Variant& variant, const std::filesystem::path& exports) {
  if (exports.empty() || !variant.quantizer || variant.draw != 0 || variant.jitter != 0 ||
      weights.averaging || !experiment.quantizers[*variant.quantizer].store_as) {
    return {};
  }
  const std::filesystem::path folder = exports / folder_name(weights_name(experiment, weights)) /
                                       folder_name(experiment.quantizers[*variant.quantizer].label);
  return std::filesystem::exists(folder) ? std::filesystem::path() : folder;
}

void export_row(OpenWeights& open, std::vector<StoredLinear> stored,
                const std::filesystem::path& folder, const std::string& tokenizer) {
  make_folders(folder.parent_path());
  export_weights(open.folder, open.model, std::move(stored), folder,
                 tokenizer == "bytes" ? "" : tokenizer);
}

}  // namespace quench
