// The folders that one set of weights must still be written to. Its measured values stay valid even
// if its weights cannot be written.
#pragma once

#include <optional>
#include <vector>

#include "core/plugin/format_writer.hpp"
#include "core/weights/open_weights.hpp"
#include "run/job.hpp"
#include "run/row_folders.hpp"

namespace quench {

class OwedFolders {
 public:
  explicit OwedFolders(const Job& job) : job_(job) {}

  // Finds those of the weights with this index; reports one that cannot be examined.
  void find(size_t weights);

  // Whether one of them is written from an open model.
  bool need_model() const;
  // The folder of a variant, or nullptr if there is nothing to write.
  const OwedFolder* of(const Variant& variant) const;
  // Writes the folder of quantized weights.
  void write_quantized(const OwedFolder& owed, OpenWeights& open, FormatWriter& stored) const;
  // Writes the averages. `open`: the model, if one was opened; `not_open`: why not.
  void write_averages(const std::optional<OpenWeights>& open,
                      const std::optional<Error>& not_open) const;
  void tell_unwritten(const RowFolder& row, const Error& error) const;

 private:
  template <typename Body>
  void write(const OwedFolder& owed, Body body) const;

  const Job& job_;
  std::vector<OwedFolder> owed_;
};

}  // namespace quench
