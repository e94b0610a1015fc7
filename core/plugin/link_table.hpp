// The libraries that plugins run on, each once, with what its file was when a plugin was probed on
// it: most plugins share them.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/plugin/description.hpp"

namespace quench {

class LinkTable {
 public:
  using Rows = std::vector<size_t>;  // of one plugin library, in the order of its links
  struct Row {
    LinkedLibrary library;
    FileIdentity stamp;  // all zero: there was no such file, which is a state, too
    bool operator==(const Row&) const = default;
  };

  // A row as it was noted earlier.
  void add_known(Row row) { rows_.push_back({std::move(row), std::nullopt}); }
  // The rows of these libraries as their files are now; new rows for those that have none.
  Rows rows_of(const std::vector<LinkedLibrary>& libraries);

  // Throws std::out_of_range for a row that is not there.
  const Row& at(size_t row) const { return rows_.at(row).row; }
  std::vector<LinkedLibrary> libraries(const Rows& rows) const;

  // Whether the files are what they were. Looks at the file of each row at most once.
  bool are_current(const Rows& rows);

 private:
  struct Watched {
    Row row;
    std::optional<FileIdentity> now;  // not looked at yet
  };
  static bool is_current(Watched& watched);
  size_t row_of(const LinkedLibrary& library);

  std::vector<Watched> rows_;
};

}  // namespace quench
