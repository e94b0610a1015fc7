#include "corpora/arrow/batches.hpp"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "corpora/shared/file.hpp"
#include "quench/kit/json.hpp"
#include "shared/shards/shards.hpp"

namespace quench::corpora {

namespace {

// Throws Arrow's error. Anything but a lack of memory or of a feature means a broken file.
void check_arrow(const arrow::Status& status, const std::string& path) {
  if (status.ok()) {
    return;
  }
  const quench_status code = status.IsOutOfMemory()      ? QUENCH_RESOURCE_EXHAUSTED
                             : status.IsNotImplemented() ? QUENCH_UNSUPPORTED
                                                         : QUENCH_DATA_LOSS;
  throw kit::Error(code, path + ": " + status.message());
}

template <typename T>
T value_of(arrow::Result<T> result, const std::string& path) {
  check_arrow(result.status(), path);
  return std::move(result).ValueUnsafe();
}

std::shared_ptr<arrow::io::ReadableFile> open_file(const std::string& path) {
  return value_of(arrow::io::ReadableFile::Open(path, arrow::system_memory_pool()), path);
}

arrow::ipc::IpcReadOptions ipc_options() {
  arrow::ipc::IpcReadOptions options;
  options.use_threads = false;  // threads belong to the host
  options.memory_pool = arrow::system_memory_pool();
  return options;
}

std::shared_ptr<arrow::RecordBatch> checked(std::shared_ptr<arrow::RecordBatch> batch,
                                            const std::string& path) {
  if (batch != nullptr) {
    check_arrow(batch->ValidateFull(), path);
  }
  return batch;
}

// The streaming format: schema, batches, end mark.
class Stream final : public Batches {
 public:
  explicit Stream(const std::string& path) : path_(path), file_(open_file(path)) {
    reader_ = value_of(arrow::ipc::RecordBatchStreamReader::Open(file_, ipc_options()), path_);
  }
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    const int64_t before = position();
    check_arrow(reader_->ReadNext(&batch), path_);
    if (batch == nullptr && !ended_) {
      check_end(before);
    }
    return checked(std::move(batch), path_);
  }

 private:
  int64_t position() const { return value_of(file_->Tell(), path_); }

  // Arrow accepts a stream that stops between two batches as complete. Here it counts as cut off,
  // so that missing documents do not go unnoticed. The end mark has 8 bytes: the continuation mark
  // and a length of zero.
  void check_end(int64_t before) {
    const int64_t at = position();
    if (at - before != 8) {
      kit::fail(QUENCH_DATA_LOSS, "%s: Arrow stream: truncated at byte %lld, no end mark",
                path_.c_str(), static_cast<long long>(at));
    }
    if (at != value_of(file_->GetSize(), path_)) {
      kit::fail(QUENCH_DATA_LOSS, "%s: Arrow stream: garbage after its end, at byte %lld",
                path_.c_str(), static_cast<long long>(at));
    }
    ended_ = true;
  }

  std::string path_;
  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  bool ended_ = false;
};

// The random-access format ("Feather V2"), with a footer that counts the batches.
class IpcFile final : public Batches {
 public:
  explicit IpcFile(const std::string& path) : path_(path) {
    reader_ =
        value_of(arrow::ipc::RecordBatchFileReader::Open(open_file(path), ipc_options()), path_);
  }
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (at_ == reader_->num_record_batches()) {
      return nullptr;
    }
    return checked(value_of(reader_->ReadRecordBatch(at_++), path_), path_);
  }

 private:
  std::string path_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  int at_ = 0;
};

class ParquetFile final : public Batches {
 public:
  ParquetFile(const std::string& path, const std::optional<std::string>& column) : path_(path) {
    parquet::ReaderProperties properties(arrow::system_memory_pool());
    properties.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties arrow_properties;
    arrow_properties.set_use_threads(false);
    arrow_properties.set_pre_buffer(false);  // it would read on threads of its own
    arrow_properties.set_batch_size(1024);   // rows
    parquet::arrow::FileReaderBuilder builder;
    check_arrow(builder.Open(open_file(path), properties), path_);
    builder.memory_pool(arrow::system_memory_pool())->properties(arrow_properties);
    check_arrow(builder.Build(&file_), path_);
    const auto all_columns = file_->parquet_reader()->metadata()->schema();
    leaf_ = column ? all_columns->ColumnIndex(*column) : -1;
    open({});
  }
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    check_arrow(reader_->ReadNext(&batch), path_);
    while (batch == nullptr && group_ < file_->num_row_groups()) {
      open({group_++});
      check_arrow(reader_->ReadNext(&batch), path_);
    }
    return checked(std::move(batch), path_);
  }

 private:
  // Opens one row group at a time: Arrow cannot join groups of nested columns with dictionaries.
  void open(const std::vector<int>& groups) {
    try {
      reader_ = value_of(leaf_ >= 0 ? file_->GetRecordBatchReader(groups, {leaf_})
                                    : file_->GetRecordBatchReader(groups),
                         path_);
    } catch (const parquet::ParquetException& problem) {
      throw kit::Error(QUENCH_DATA_LOSS, path_ + ": " + problem.what());
    }
  }

  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::unique_ptr<arrow::RecordBatchReader> reader_;
  int leaf_ = -1;  // the only column to read
  int group_ = 0;  // the next row group
};

std::string read_small_file(const std::string& path) {
  constexpr uint64_t kLimit = uint64_t{16} << 20;
  const File file(path);
  if (file.size() > kLimit) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: got %llu bytes, wanted at most 16 MiB", path.c_str(),
              static_cast<unsigned long long>(file.size()));
  }
  std::string text(file.size(), '\0');
  file.read_exactly(0, text.data(), text.size());
  return text;
}

[[noreturn]] void bad_state(const std::string& path, const std::string& what) {
  throw kit::Error(QUENCH_INVALID_ARGUMENT, path + ": " + what);
}

// Sorted by name, which is the order of shards. Files of another form beside them would be left out
// without a word.
std::vector<std::string> parquet_files_in(const std::string& path) {
  std::vector<std::string> files;
  std::string other;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".parquet") {
      files.push_back(entry.path().string());
    } else if (entry.path().extension() == ".arrow") {
      other = std::min(other.empty() ? "\xff" : other, entry.path().filename().string());
    }
  }
  if (!files.empty() && !other.empty()) {
    bad_state(path, "got Parquet files and " + other +
                        ", wanted files of one form; name one file, or a folder of one form");
  }
  std::sort(files.begin(), files.end());
  check_shards(files);
  return files;
}

}  // namespace

std::vector<std::string> data_files_of(const std::string& path) {
  if (!is_folder_at(path)) {
    return {path};
  }
  const std::string state_path = path + "/state.json";
  if (!exists_at(state_path)) {
    if (exists_at(path + "/dataset_dict.json")) {
      bad_state(path, "the folder holds several splits, wanted one of its subfolders");
    }
    std::vector<std::string> shards = parquet_files_in(path);
    if (shards.empty()) {
      bad_state(path,
                "the folder has neither Parquet files nor a state.json, which save_to_disk "
                "wrote");
    }
    return shards;
  }
  const std::string text = read_small_file(state_path);
  std::unique_ptr<kit::Json> state;
  try {
    state = std::make_unique<kit::Json>(text.data(), text.size());
  } catch (const kit::Error& problem) {
    bad_state(state_path, "not JSON: " + std::string(problem.what()));
  }
  if (state->size("/_indices_data_files") > 0) {
    throw kit::Error(QUENCH_UNSUPPORTED,
                     state_path +
                         ": a selection of rows (_indices_data_files) is not supported: "
                         "flatten_indices() before saving");
  }
  std::vector<std::string> files;
  for (uint64_t i = 0; i < state->size("/_data_files"); ++i) {
    const std::string at = "/_data_files/" + std::to_string(i) + "/filename";
    const std::string name = state->string_or(at, "");
    if (name.empty() || name.find('/') != std::string::npos) {
      bad_state(state_path, at + ": got `" + name + "`, wanted the name of a file beside it");
    }
    files.push_back(path + "/" + name);
  }
  if (files.empty()) {
    bad_state(state_path, "_data_files names no file");
  }
  return files;
}

std::unique_ptr<Batches> open_batches(const std::string& path,
                                      const std::optional<std::string>& column) {
  const File file(path);
  char magic[8] = {};
  const size_t got = file.read(0, magic, sizeof magic);
  if (got >= 6 && std::memcmp(magic, "ARROW1", 6) == 0) {
    return std::make_unique<IpcFile>(path);
  }
  if (got >= 4 && std::memcmp(magic, "PAR1", 4) == 0) {
    try {
      return std::make_unique<ParquetFile>(path, column);
    } catch (const parquet::ParquetException& problem) {
      throw kit::Error(QUENCH_DATA_LOSS, path + ": " + problem.what());
    }
  }
  if (got >= 4 && std::memcmp(magic, "\xff\xff\xff\xff", 4) == 0) {  // IPC's continuation mark
    return std::make_unique<Stream>(path);
  }
  kit::fail(QUENCH_INVALID_ARGUMENT, "%s: neither an Arrow stream, an Arrow file nor Parquet",
            path.c_str());
}

}  // namespace quench::corpora
