// jsonl: one JSON object per line, plain or gzip, the format of C4 and similar data sets.
//
// | parameter  | type    | default  | range      | meaning                                   |
// |------------|---------|----------|------------|-------------------------------------------|
// | path       | path    | required |            | the file; gzip is recognized by its bytes |
// | field      | string  | text     |            | key of the string with the document       |
// | on_error   | choice  | stop     | stop, skip | what happens on a bad line                |
// | line_limit | int     | 67108864 | >= 1       | longest line, in bytes                    |
// | records    | boolean | false    |            | yield whole objects, not one field        |
//
//   c4_raw: {jsonl: {path: c4-train.00001-of-01024.json.gz, field: text}}
//
// A broken gzip file is an error for either value of `on_error`. Blank lines are not documents.
// Memory: one line.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "corpora/shared/file.hpp"
#include "corpora/shared/gzip.hpp"
#include "corpora/shared/lines.hpp"
#include "corpora/shared/skipped.hpp"
#include "quench/kit/corpus.hpp"

namespace quench::corpora {

namespace {

const char* name_of_type(int32_t type) {
  switch (type) {
    case QUENCH_JSON_NULL:
      return "null";
    case QUENCH_JSON_BOOLEAN:
      return "a boolean";
    case QUENCH_JSON_INTEGER:
    case QUENCH_JSON_NUMBER:
      return "a number";
    case QUENCH_JSON_STRING:
      return "a string";
    case QUENCH_JSON_ARRAY:
      return "an array";
    default:
      return "an object";
  }
}

// "JSON:1:5: invalid JSON: ..." as "not JSON at character 5: ...": the line is named already.
std::string of_one_line(const std::string& problem) {
  constexpr std::string_view kWhere = "JSON:1:";
  constexpr std::string_view kWhat = ": invalid JSON: ";
  const size_t what = problem.find(kWhat);
  if (!problem.starts_with(kWhere) || what == std::string::npos) {
    return "not JSON: " + problem;
  }
  return "not JSON at character " + problem.substr(kWhere.size(), what - kWhere.size()) + ": " +
         problem.substr(what + kWhat.size());
}

class Jsonl final : public kit::Corpus {
 public:
  struct Params {
    kit::Path path;
    std::string field = "text";
    std::string on_error = "stop";
    int64_t line_limit = int64_t{64} << 20;
    bool records = false;
    static void describe(kit::Fields<Params>& f) {
      f.add("path", &Params::path, "the file, plain or gzip (recognized by its first bytes)")
          .required();
      f.add("field", &Params::field, "key of the string with the document");
      f.add("on_error", &Params::on_error,
            "what happens on a line that is not JSON, too long, or lacks the field: stop, or "
            "skip the line, count it and log it")
          .choices("stop|skip");
      f.add("line_limit", &Params::line_limit, "longest line, in bytes").range(1, 1 << 30);
      f.add("records", &Params::records,
            "whether to yield whole objects instead of one field's string");
    }
  };

  explicit Jsonl(const Params& params) : file_(params.path.path), params_(params) {
    std::unique_ptr<ByteStream> bytes;
    const std::string_view compressor = compressor_of(file_);
    if (compressor == "gzip") {
      bytes = std::make_unique<GzipStream>(file_);
    } else if (!compressor.empty()) {
      refuse_compressed(file_, compressor, "plain lines or gzip");
    } else {
      bytes = std::make_unique<FileRange>(file_, 0, file_.size());
    }
    lines_ =
        std::make_unique<LineReader>(std::move(bytes), static_cast<uint64_t>(params.line_limit));
  }

  bool next(quench_document& document) override {
    for (;;) {
      const LineReader::Outcome outcome = lines_->next(line_);
      if (outcome == LineReader::Outcome::kEndless) {
        throw kit::Error(QUENCH_RESOURCE_EXHAUSTED,
                         file_.path() + ":" + std::to_string(lines_->number()) +
                             ": the line is more than 256 MiB longer than line_limit = " +
                             std::to_string(params_.line_limit) + " bytes, too long to skip");
      }
      if (outcome == LineReader::Outcome::kEnd) {
        finish();
        document.index = index_;
        return false;
      }
      if (outcome == LineReader::Outcome::kLine && blank()) {
        continue;
      }
      const uint64_t index = index_++;
      try {
        read(outcome, document);
      } catch (const kit::Error& problem) {
        if (params_.on_error == "stop" || problem.code() != QUENCH_INVALID_ARGUMENT) {
          throw;
        }
        skipped_.add(problem.what());
        continue;
      }
      document.index = index;
      return true;
    }
  }

  std::string fingerprint() override { return sha256_of({file_.path()}); }

 private:
  bool blank() const {
    return std::all_of(line_.begin(), line_.end(),
                       [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
  }

  [[noreturn]] void bad_line(const std::string& what) const {
    throw kit::Error(QUENCH_INVALID_ARGUMENT,
                     file_.path() + ":" + std::to_string(lines_->number()) + ": " + what);
  }

  kit::JsonDocument parsed() const {
    try {
      return {line_, "JSON"};
    } catch (const kit::Error& problem) {
      if (problem.code() == QUENCH_RESOURCE_EXHAUSTED) {
        throw;
      }
      bad_line(of_one_line(problem.what()));
    }
  }

  void read(LineReader::Outcome outcome, quench_document& document) {
    if (outcome == LineReader::Outcome::kTooLong) {
      bad_line("the line is longer than line_limit = " + std::to_string(params_.line_limit) +
               " bytes");
    }
    const kit::JsonDocument json = parsed();
    const kit::JsonValue root = json.root();
    if (!root.is_object()) {
      bad_line(std::string("got ") + name_of_type(root.type()) + ", wanted an object");
    }
    if (params_.records) {
      document.record = line_.data();
      document.record_bytes = line_.size();
      return;
    }
    const std::optional<kit::JsonValue> field = root.member(params_.field);
    if (!field) {
      bad_line("field `" + params_.field + "` is missing");
    }
    const std::optional<std::string_view> text = field->string();
    if (!text) {
      bad_line("field `" + params_.field + "`: got " + name_of_type(field->type()) +
               ", wanted a string");
    }
    text_ = *text;
    document.text = text_.data();
    document.text_bytes = text_.size();
  }

  void finish() const {
    if (index_ == skipped_.count()) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no document: got %llu lines, %llu of them skipped",
                file_.path().c_str(), static_cast<unsigned long long>(lines_->number()),
                static_cast<unsigned long long>(skipped_.count()));
    }
  }

  File file_;
  Params params_;
  std::unique_ptr<LineReader> lines_;
  std::string line_;
  std::string text_;
  uint64_t index_ = 0;
  Skipped skipped_;
};

}  // namespace

}  // namespace quench::corpora

QUENCH_MODULE(
    "quench.jsonl", "0.1.0",
    quench::kit::corpus<quench::corpora::Jsonl>(
        {.id = "jsonl",
         .version = "0.1.0",
         .summary = "One JSON object per line, plain or gzip; one field is the document."}))
