// arrow: rows of Arrow or Parquet data sets.
//
// | parameter | type    | default  | meaning                                                    |
// |-----------|---------|----------|------------------------------------------------------------|
// | path      | path    | required | an .arrow stream or file, a .parquet file, a folder of     |
// |           |         |          | these, or a folder written by save_to_disk of `datasets`   |
// | field     | string  | text     | string column with the document                            |
// | from      | integer | 0        | first row to read, counted over all files                  |
// | to        | integer | null     | row to stop before; null: read all                         |
// | records   | boolean | false    | yield each row as a JSON object of all its columns instead |
//
//   fineweb: {arrow: {path: fineweb-edu/000_00000.parquet, field: text, to: 1000}}
//
// A folder with files of both forms is refused: one of them would be left out without a word.
// Every batch is fully validated before any value is read. Memory: one batch (Parquet: the pages of
// one row group).
#include <arrow/array.h>
#include <arrow/type.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corpora/arrow/batches.hpp"
#include "corpora/arrow/record.hpp"
#include "corpora/shared/file.hpp"
#include "quench/kit/corpus.hpp"

namespace quench::corpora {

namespace {

class ArrowCorpus final : public kit::Corpus {
 public:
  struct Params {
    kit::Path path;
    std::string field = "text";
    int64_t from = 0;
    std::optional<int64_t> to;
    bool records = false;
    static void describe(kit::Fields<Params>& f) {
      f.add("path", &Params::path,
            "an Arrow stream or file, a Parquet file, a folder written by save_to_disk, or one of "
            "Parquet files")
          .required();
      f.add("field", &Params::field, "string column with the document");
      f.add("from", &Params::from, "first row to read, counted over all files").at_least(0);
      f.add("to", &Params::to, "row to stop before; null: read all").at_least(1);
      f.add("records", &Params::records,
            "whether to yield each row as a JSON object of all its columns");
    }
  };

  explicit ArrowCorpus(const Params& params)
      : params_(params), files_(data_files_of(params.path.path)) {
    for (const std::string& file : files_) {
      const File present(file);  // all files must exist before the first row is read
    }
    if (params_.to && *params_.to <= params_.from) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: from = %lld, to = %lld: wanted from < to",
                params_.path.path.c_str(), static_cast<long long>(params_.from),
                static_cast<long long>(*params_.to));
    }
    to_skip_ = params_.from;
    open(0);
  }

  bool next(quench_document& document) override {
    if (params_.to && params_.from + static_cast<int64_t>(index_) == *params_.to) {
      return false;
    }
    while (batch_ == nullptr || row_ == batch_->num_rows()) {
      if (!advance()) {
        return false;
      }
    }
    text_.clear();
    if (params_.records) {
      write_record();
      document.record = text_.data();
      document.record_bytes = text_.size();
    } else {
      read_text();
      document.text = text_.data();
      document.text_bytes = text_.size();
    }
    ++row_;
    document.index = index_++;
    return true;
  }

  std::string fingerprint() override { return sha256_of(files_); }

 private:
  const std::string& path() const { return files_[file_]; }

  void open(size_t file) {
    file_ = file;
    first_row_ = 0;
    row_ = 0;
    batch_ = nullptr;
    batches_ = open_batches(
        path(), params_.records ? std::nullopt : std::optional<std::string>(params_.field));
    if (!params_.records) {
      check_column();
    }
  }

  void check_column() const {
    const std::vector<int> found = batches_->schema()->GetAllFieldIndices(params_.field);
    if (found.size() != 1) {
      std::string names;
      for (const std::string& name : batches_->schema()->field_names()) {
        names += (names.empty() ? "" : ", ") + name;
      }
      kit::fail(QUENCH_NOT_FOUND, "%s: got %zu columns `%s`, wanted one; columns: %s",
                path().c_str(), found.size(), params_.field.c_str(), names.c_str());
    }
    const arrow::DataType& type = *batches_->schema()->field(found[0])->type();
    if (!is_text(type)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: column `%s`: got type %s, wanted string",
                path().c_str(), params_.field.c_str(), type.ToString().c_str());
    }
  }

  // Moves on to the next batch or the next file; false after the last.
  bool advance() {
    kit::check_cancelled();
    if (batch_ != nullptr) {
      first_row_ += batch_->num_rows();
    }
    row_ = 0;
    batch_ = batches_->next();
    if (batch_ != nullptr) {
      row_ = std::min(to_skip_, batch_->num_rows());
      to_skip_ -= row_;
      return true;
    }
    if (file_ + 1 < files_.size()) {
      open(file_ + 1);
      return true;
    }
    check_end();
    return false;
  }

  // Checks the range after the last row: the data set must reach `from` and `to`.
  void check_end() const {
    const int64_t rows = params_.from - to_skip_ + static_cast<int64_t>(index_);
    if (rows == 0) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no document: the data set has no rows",
                params_.path.path.c_str());
    }
    if (index_ == 0 || params_.to) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: the range ends beyond the data set (from = %lld, %s%s, "
                "data set: %lld rows)",
                params_.path.path.c_str(), static_cast<long long>(params_.from),
                params_.to ? "to = " : "no to",
                params_.to ? std::to_string(*params_.to).c_str() : "",
                static_cast<long long>(rows));
    }
  }

  void read_text() {
    const std::shared_ptr<arrow::Array> column = batch_->GetColumnByName(params_.field);
    const std::optional<std::string_view> text = text_at(*column, row_);
    if (!text) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: row %lld: column `%s` is null, wanted a string",
                path().c_str(), static_cast<long long>(first_row_ + row_), params_.field.c_str());
    }
    text_ = *text;
  }

  void write_record() {
    text_ += '{';
    for (int i = 0; i < batch_->num_columns(); ++i) {
      if (i > 0) {
        text_ += ',';
      }
      append_json_string(batch_->column_name(i), text_);
      text_ += ':';
      try {
        append_json(*batch_->column(i), row_, text_);
      } catch (const kit::Error& problem) {
        kit::fail(problem.code(), "%s: row %lld: column `%s`: %s", path().c_str(),
                  static_cast<long long>(first_row_ + row_), batch_->column_name(i).c_str(),
                  problem.what());
      }
    }
    text_ += '}';
  }

  Params params_;
  std::vector<std::string> files_;
  size_t file_ = 0;
  std::unique_ptr<Batches> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t first_row_ = 0;  // index of batch_'s first row in its file
  int64_t row_ = 0;        // index within batch_
  int64_t to_skip_ = 0;    // rows still to skip before `from`
  std::string text_;
  uint64_t index_ = 0;
};

}  // namespace

}  // namespace quench::corpora

QUENCH_MODULE("quench.arrow", "0.1.0",
              quench::kit::corpus<quench::corpora::ArrowCorpus>(
                  {.id = "arrow",
                   .version = "0.1.0",
                   .summary = "Rows of Arrow or Parquet data sets; one column is the document."}))
