// Record batches of Arrow and Parquet files, checked in full.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quench::corpora {

// The files that documents come from: `path` itself; for a folder that `save_to_disk` wrote, the
// files that its state.json lists; else the folder's Parquet files, by name. INVALID_ARGUMENT for
// any other folder.
std::vector<std::string> data_files_of(const std::string& path);

// One file, read batch by batch.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  // The next batch, which passed ValidateFull (offsets, lengths, UTF-8, dictionary indices), or
  // nullptr at the end. DATA_LOSS where the file is broken or cut off.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

// Opens an Arrow IPC stream, an Arrow IPC file or a Parquet file, as its first bytes say. Parquet
// reads only `column` when one is named.
std::unique_ptr<Batches> open_batches(const std::string& path,
                                      const std::optional<std::string>& column);

}  // namespace quench::corpora
