// Record batches of Arrow and Parquet files, fully validated.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quench::corpora {

// The files with the documents: `path` itself; for a folder written by `save_to_disk`, the files
// listed in its state.json; for another folder, its Parquet files by name. Throws INVALID_ARGUMENT
// for any other folder.
std::vector<std::string> data_files_of(const std::string& path);

// One file, read batch by batch.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  // The next batch, after ValidateFull has checked it (offsets, lengths, UTF-8, dictionary
  // indices), or nullptr at the end. Throws DATA_LOSS if the file is broken or cut off.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

// Opens an Arrow IPC stream, an Arrow IPC file or a Parquet file, told apart by their first bytes.
// If `column` is not empty, reads only that column of a Parquet file.
std::unique_ptr<Batches> open_batches(const std::string& path,
                                      const std::optional<std::string>& column);

}  // namespace quench::corpora
