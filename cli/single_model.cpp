#include "cli/single_model.hpp"

#include <filesystem>

#include "core/checkpoint/dtype.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/single_checkpoint.hpp"

namespace quench {

void add_single_model(Verb& verb, SingleModel& to) {
  verb.option("model", to.model, "Folder, file, or hf://org/name[@revision]").required();
  verb.option("--calibration", to.calibration, "text=FILE,sequences=N,length=T or tokens=FILE")
      .placeholder("SPEC");
  verb.option("--tokenizer", to.tokenizer,
              "A file that a tokenizer plugin reads, a folder or hf://org/name that has one, or "
              "bytes (default: the checkpoint's own)");
  verb.option("--dtype", to.dtype, "float32, float64, bfloat16, float16");
  verb.option("--device", to.device, "cpu or cuda:N");
  verb.option("--seed", to.seed, "Seed of all random numbers").whole_number();
}

Experiment experiment_of(const SingleModel& model, Catalog& catalog, const HubEnvironment& hub) {
  Experiment out;
  out.seed = model.seed;
  out.dtype = parse_dtype(model.dtype);
  out.device = parse_device(model.device);
  out.tokenizer = model.tokenizer;
  if (is_hub_spec(out.tokenizer)) {
    out.tokenizer = tokenizer_file(catalog, resolve(out.tokenizer, hub).folder).string();
  } else if (std::filesystem::is_directory(out.tokenizer)) {
    out.tokenizer = tokenizer_file(catalog, out.tokenizer).string();
  }
  out.checkpoints.push_back(single_checkpoint(model.model));
  out.weights = weights_as_they_are(out.checkpoints);
  return out;
}

}  // namespace quench
