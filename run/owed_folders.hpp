// The folders that one set of weights is to be written as, and is not yet. What was measured stays
// measured, whether its weights can be written or not.
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

  // Looks for those of the weights of this index; one that cannot be looked at is told of.
  void find(size_t weights);

  // Whether one of them is written out of an open model.
  bool need_model() const;
  // The variant's, or nullptr where there is nothing to write.
  const OwedFolder* of(const Variant& variant) const;
  // Writes the folder of quantized weights.
  void write_quantized(const OwedFolder& owed, OpenWeights& open,
                       FormatWriter& stored) const;
  // Writes the averages. `open`: where a model was opened; `not_open`: why it could not be.
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
