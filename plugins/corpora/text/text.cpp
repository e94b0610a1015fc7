// text: plain UTF-8 text with one document per file, line or paragraph.
//
// | parameter | type   | default  | range                      | meaning                         |
// |-----------|--------|----------|----------------------------|---------------------------------|
// | path      | path   | required |                            | the text file, or a folder      |
// | files     | list   | ["*"]    | patterns with * and ?      | for a folder: name patterns     |
// | invalid   | choice | refuse   | refuse, skip               | documents that are not UTF-8    |
// | split     | choice | document | document, line, blank_line | what ends a document            |
// | from      | int    | 0        | >= 0                       | first byte to read              |
// | to        | int    | null     | >= from                    | byte to stop before; null: none |
//
// `from` and `to` must lie at the first byte of a character.
//
//   shakespeare: {text: {path: tinyshakespeare.txt, from: 1003854}}
//   headers: {text: {path: /usr/include/boost, files: ["*.hpp"], invalid: skip}}
//
// Bytes are passed on unchanged: nothing is stripped, and line breaks inside a document are not
// translated. A byte order mark is part of the text, and a warning says so. The files below a
// folder are read in the order of their paths, each as if it were alone; empty files hold no
// document. A link is the file or folder that it leads to; what fits and is no file (a pipe, a link
// to nothing) is an error, and so is a folder that a link in it leads back to. Memory: one
// document. With split: document that is the whole range, which token ids need several times
// anyway.
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "corpora/shared/file.hpp"
#include "corpora/shared/gzip.hpp"
#include "corpora/shared/lines.hpp"
#include "corpora/shared/skipped.hpp"
#include "corpora/shared/utf8.hpp"
#include "quench/kit/corpus.hpp"

namespace quench::corpora {

namespace {

constexpr uint64_t kLineLimit = uint64_t{64} << 20;  // bytes; no text has longer lines

// One file, or a range of it.
class TextFile {
 public:
  TextFile(const std::string& path, const std::string& split, uint64_t from,
           std::optional<uint64_t> to)
      : file_(path), split_(split), from_(from), to_(to.value_or(file_.size())) {
    if (const std::string_view compressor = compressor_of(file_); !compressor.empty()) {
      refuse_compressed(file_, compressor, "plain text");
    }
    check_range();
    lines_ =
        std::make_unique<LineReader>(std::make_unique<FileRange>(file_, from_, to_), kLineLimit);
  }

  // Reads the next document; false at the end. `offset` is that of its first byte in the file.
  bool next(std::string& text, uint64_t& offset) {
    return split_ == "document" ? whole_range(text, offset)
           : split_ == "line"   ? line(text, offset)
                                : paragraph(text, offset);
  }

 private:
  void check_range() const {
    const auto range = [this](const char* problem, uint64_t got) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s (from = %llu, to = %llu, file: %llu bytes)",
                file_.path().c_str(), (std::string(problem) + std::to_string(got)).c_str(),
                static_cast<unsigned long long>(from_), static_cast<unsigned long long>(to_),
                static_cast<unsigned long long>(file_.size()));
    };
    if (file_.size() == 0) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: the file is empty, wanted text",
                file_.path().c_str());
    }
    if (to_ > file_.size()) {
      range("the range ends beyond the file, at byte ", to_);
    }
    if (from_ >= to_) {
      range("the range is empty at byte ", from_);
    }
    for (const uint64_t cut : {from_, to_}) {
      char byte = 0;
      if (file_.read(cut, &byte, 1) == 1 && continues_character(byte)) {
        range("the range cuts a UTF-8 character at byte ", cut);
      }
    }
  }

  bool whole_range(std::string& text, uint64_t& offset) {
    if (done_) {
      return false;
    }
    done_ = true;
    offset = from_;
    text.resize(to_ - from_);
    file_.read_exactly(from_, text.data(), text.size());
    return true;
  }

  // Reads one line into line_; false at the end.
  bool read_line() {
    const LineReader::Outcome outcome = lines_->next(line_);
    if (outcome == LineReader::Outcome::kTooLong) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s:%llu: the line is longer than %llu bytes",
                file_.path().c_str(), static_cast<unsigned long long>(lines_->number()),
                static_cast<unsigned long long>(kLineLimit));
    }
    return outcome == LineReader::Outcome::kLine;
  }

  bool line(std::string& text, uint64_t& offset) {
    while (read_line()) {
      if (!line_.empty()) {
        offset = from_ + lines_->offset();
        text.swap(line_);
        return true;
      }
    }
    return false;
  }

  // Reads lines up to the next blank one and joins them with "
  // ".
  bool paragraph(std::string& text, uint64_t& offset) {
    text.clear();
    while (read_line() && !(line_.empty() && !text.empty())) {
      if (line_.empty()) {
        continue;
      }
      if (text.empty()) {
        offset = from_ + lines_->offset();
      } else {
        text += '\n';
      }
      text += line_;
    }
    return !text.empty();
  }

  File file_;
  std::string split_;
  uint64_t from_;
  uint64_t to_;
  bool done_ = false;
  std::unique_ptr<LineReader> lines_;
  std::string line_;
};

// Refuses a link to a folder that it lies in: its files would come again and again.
void check_leads_on(const std::string& link, const std::string& folder) {
  namespace fs = std::filesystem;
  const size_t shortest = folder.find_last_not_of('/') + 1;
  fs::path above = fs::path(link).parent_path();
  for (bool is_below = true; is_below; above = above.parent_path()) {
    std::error_code unseen;
    if (fs::equivalent(link, above, unseen)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: a link back to %s, wanted one that leads on",
                link.c_str(), above.c_str());
    }
    is_below = above.native().size() > shortest && above != above.parent_path();
  }
}

// The files below a folder whose names match one of the patterns, in the order of their paths. A
// link stands for its file or folder; what is no file is an error, as text would be missing.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::vector<std::string>& patterns) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code error;
  constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, kFollow, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const bool is_folder = at->is_directory(gone);
    if (is_folder && at->is_symlink(gone)) {
      check_leads_on(at->path().string(), folder);
    }
    const std::string name = at->path().filename().string();
    const auto fits = [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
    if (!is_folder && std::any_of(patterns.begin(), patterns.end(), fits) &&
        File(at->path().string()).size() > 0) {
      out.push_back(at->path().string());
    }
  }
  if (error) {
    kit::fail(status_of_path(error.value()), "%s: cannot be listed: %s", folder.c_str(),
              error.message().c_str());
  }
  if (out.empty()) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no file below it matches `files`", folder.c_str());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Text final : public kit::Corpus {
 public:
  struct Params {
    kit::Path path;
    std::vector<std::string> files = {"*"};
    std::string invalid = "refuse";
    std::string split = "document";
    int64_t from = 0;
    std::optional<int64_t> to;
    static void describe(kit::Fields<Params>& f) {
      f.add("path", &Params::path,
            "the text file, UTF-8, or a folder; a link in it is what it leads to")
          .required();
      f.add("files", &Params::files, "for a folder: name patterns with * and ?");
      f.add("invalid", &Params::invalid,
            "documents that are not UTF-8: stop the run, or skip and count them")
          .choices("refuse|skip");
      f.add("split", &Params::split,
            "what ends a document: the end of the file, of a line, or a blank line; blank lines "
            "belong to no document")
          .choices("document|line|blank_line");
      f.add("from", &Params::from, "first byte to read").at_least(0);
      f.add("to", &Params::to, "byte to stop before; null: the end of the file").at_least(0);
    }
  };

  explicit Text(const Params& params) : params_(params), folder_(is_folder_at(params.path.path)) {
    paths_ = folder_ ? files_below(params.path.path, params.files)
                     : std::vector<std::string>{params.path.path};
    kit::expects(!folder_ || (params.from == 0 && !params.to),
                 "from, to: a range needs a file, but `path` is a folder");
    open(0);  // reports faults of the first file now
  }

  bool next(quench_document& document) override {
    uint64_t offset = 0;
    while (true) {
      if (!file_->next(text_, offset)) {
        if (at_ + 1 < paths_.size()) {
          open(at_ + 1);
          continue;
        }
        check_end();
        document.index = index_;
        return false;
      }
      document.index = index_++;
      if (is_sound(offset)) {
        tell_mark(offset);
        break;
      }
    }
    document.text = text_.data();
    document.text_bytes = text_.size();
    return true;
  }

  std::string fingerprint() override {
    return folder_ ? sha256_of_each(paths_) : sha256_of(paths_);
  }

 private:
  void open(size_t index) {
    at_ = index;
    file_ = std::make_unique<TextFile>(
        paths_[index], params_.split, static_cast<uint64_t>(params_.from),
        params_.to ? std::optional(static_cast<uint64_t>(*params_.to)) : std::nullopt);
  }

  void check_end() const {
    if (index_ == 0) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no document: got blank lines only",
                params_.path.path.c_str());
    }
    if (index_ == skipped_.count()) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no document: all %llu were skipped",
                params_.path.path.c_str(), static_cast<unsigned long long>(index_));
    }
  }

  // Its bytes stay in the text, since values have been measured with them.
  void tell_mark(uint64_t offset) {
    if (offset == 0 && !told_mark_ && text_.starts_with("\xEF\xBB\xBF")) {
      told_mark_ = true;
      kit::log(QUENCH_LOG_WARNING, paths_[at_] +
                                       ": begins with a byte order mark (3 bytes), "
                                       "which is read as text; save it without one");
    }
  }

  bool is_sound(uint64_t offset) {
    const size_t wrong = first_invalid_utf8(text_);
    if (wrong == std::string::npos) {
      return true;
    }
    char byte[8] = {};
    std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text_[wrong]));
    const std::string problem =
        paths_[at_] + ": byte " + std::to_string(offset + wrong) + " is not UTF-8 (" + byte + ")";
    if (params_.invalid == "refuse") {
      throw kit::Error(QUENCH_INVALID_ARGUMENT, problem);
    }
    skipped_.add(problem);
    return false;
  }

  Params params_;
  bool folder_;
  std::vector<std::string> paths_;
  size_t at_ = 0;  // index into paths_
  std::unique_ptr<TextFile> file_;
  std::string text_;
  uint64_t index_ = 0;  // of the next document
  Skipped skipped_;
  bool told_mark_ = false;
};

}  // namespace

}  // namespace quench::corpora

QUENCH_MODULE("quench.text", "0.1.0",
              quench::kit::corpus<quench::corpora::Text>({.id = "text",
                                                          .version = "0.1.0",
                                                          .summary = "Plain UTF-8 text: a file, a "
                                                                     "line or a paragraph is one "
                                                                     "document."}))
