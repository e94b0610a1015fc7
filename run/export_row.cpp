#include "run/export_row.hpp"

#include "core/io/atomic_file.hpp"
#include "core/plugin/running_code.hpp"
#include "core/weights/export_weights.hpp"

namespace quench {

void export_row(OpenWeights& open, FormatWriter& stored, const OwedFolder& owed,
                const std::string& tokenizer) {
  make_folders(owed.row.path.parent_path());
  SealedFolder target(owed.row.path, /*replaces=*/true);
  export_weights(open.folder, open.model, stored, target, tokenizer == "bytes" ? "" : tokenizer);
  check_running_code();
  target.publish(owed.made_from);
}

}  // namespace quench
