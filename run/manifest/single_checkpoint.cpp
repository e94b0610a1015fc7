#include "run/manifest/single_checkpoint.hpp"

#include <filesystem>

#include "core/hub/hub_spec.hpp"
#include "run/manifest/revision_pattern.hpp"

namespace quench {

namespace fs = std::filesystem;

CheckpointCell single_checkpoint(const std::string& model) {
  CheckpointCell cell;
  cell.model = model;
  cell.location = model;
  if (is_hub_spec(model)) {
    const size_t at = model.rfind('@');
    if (at != std::string::npos) {
      cell.model = model.substr(0, at);
      cell.revision = model.substr(at + 1);
    }
  }
  // The last part of the path is its name, with or without a trailing slash.
  const fs::path path = fs::path(model).lexically_normal();
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  const NamedPosition position =
      named_position(cell.revision.empty() ? folder.filename().string() : cell.revision);
  cell.step = position.step;
  cell.tokens = position.tokens;
  return cell;
}

std::vector<WeightsCell> weights_as_they_are(const std::vector<CheckpointCell>& checkpoints) {
  std::vector<WeightsCell> out(checkpoints.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].checkpoint = i;
  }
  return out;
}

}  // namespace quench
