#include "cli/single_model.hpp"

#include <filesystem>

#include "core/checkpoint/dtype.hpp"
#include "core/corpora/tokenizer.hpp"
#include "core/weights/open_checkpoint.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/single_checkpoint.hpp"

namespace quench {

void add_single_model(CLI::App& command, SingleModel& to) {
  command.add_option("model", to.model, "Folder, file, or hf://org/name[@revision]")->required();
  command
      .add_option("--calibration", to.calibration, "text=FILE,sequences=N,length=T or tokens=FILE")
      ->type_name("SPEC");
  command.add_option(
      "--tokenizer", to.tokenizer,
      "A file that a tokenizer plugin reads, a folder that has one, or bytes (default: "
      "the checkpoint's own)");
  command.add_option("--dtype", to.dtype, "float32, float64, bfloat16, float16");
  command.add_option("--device", to.device, "cpu or cuda:N");
  command.add_option("--seed", to.seed, "Seed of all random numbers")
      ->check([](const std::string& text) {
        const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
        return digits && text.size() <= 19 ? "" : "got " + text + ", wanted a whole number from 0";
      });
}

Experiment experiment_of(const SingleModel& model, Catalog& catalog) {
  Experiment out;
  out.seed = model.seed;
  out.dtype = parse_dtype(model.dtype);
  out.device = parse_device(model.device);
  out.tokenizer = model.tokenizer;
  if (std::filesystem::is_directory(out.tokenizer)) {
    out.tokenizer = tokenizer_file(catalog, out.tokenizer).string();
  }
  out.checkpoints.push_back(single_checkpoint(model.model));
  out.weights = weights_as_they_are(out.checkpoints);
  return out;
}

}  // namespace quench
