// text: plain UTF-8 text, one document a file, a line, or a paragraph.
//
// | parameter | type   | default  | range                            | meaning |
// |-----------|--------|----------|----------------------------------|-------------------------------|
// | path      | path   | required |                                  | the text file | | split |
// choice | document | document, line, blank_line       | what ends a document          | | from |
// int    | 0        | >= 0, at a character's first byte| first byte that is read       | | to | int
// | null     | >= from, likewise                | first byte that is not; null: all |
//
//   shakespeare: {text: {path: tinyshakespeare.txt, from: 1003854}}
//
// Bytes are handed on as they are: nothing is stripped, and line breaks are not translated inside
// a document. Memory: one document; with split: document that is the whole range, which token ids
// need several times over anyway.
#include <memory>
#include <optional>
#include <string>

#include "corpora/shared/file.hpp"
#include "corpora/shared/lines.hpp"
#include "corpora/shared/utf8.hpp"
#include "quench/kit/corpus.hpp"

namespace quench::corpora {

namespace {

constexpr uint64_t kLineLimit = uint64_t{64} << 20;  // bytes; a longer line is no line of a text

class Text final : public kit::Corpus {
 public:
  struct Params {
    kit::Path path;
    std::string split = "document";
    int64_t from = 0;
    std::optional<int64_t> to;
    static void describe(kit::Fields<Params>& f) {
      f.add("path", &Params::path, "the text file, UTF-8").required();
      f.add("split", &Params::split,
            "what ends a document: the end of the file, of a line, or a blank line; blank lines "
            "belong to no document")
          .choices("document|line|blank_line");
      f.add("from", &Params::from, "first byte of the file that is read").at_least(0);
      f.add("to", &Params::to, "first byte of the file that is not read; null: the whole file")
          .at_least(0);
    }
  };

  explicit Text(const Params& params)
      : file_(params.path.path),
        split_(params.split),
        from_(static_cast<uint64_t>(params.from)),
        to_(params.to ? static_cast<uint64_t>(*params.to) : file_.size()) {
    check_range();
    lines_ =
        std::make_unique<LineReader>(std::make_unique<FileRange>(file_, from_, to_), kLineLimit);
  }

  bool next(quench_document& document) override {
    uint64_t offset = 0;  // of the document's first byte in the file
    const bool found = split_ == "document" ? whole_range(offset)
                       : split_ == "line"   ? line(offset)
                                            : paragraph(offset);
    if (!found) {
      if (index_ == 0) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "%s: no document: got blank lines only",
                  file_.path().c_str());
      }
      return false;
    }
    check_utf8(offset);
    document.text = text_.data();
    document.text_bytes = text_.size();
    document.index = index_++;
    return true;
  }

  std::string fingerprint() override { return sha256_of({file_.path()}); }

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
      range("the range ends behind the file, at byte ", to_);
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

  bool whole_range(uint64_t& offset) {
    if (index_ > 0) {
      return false;
    }
    offset = from_;
    text_.resize(to_ - from_);
    file_.read_exactly(from_, text_.data(), text_.size());
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

  bool line(uint64_t& offset) {
    while (read_line()) {
      if (!line_.empty()) {
        offset = from_ + lines_->offset();
        text_.swap(line_);
        return true;
      }
    }
    return false;
  }

  // Lines up to the next blank one, joined by "\n".
  bool paragraph(uint64_t& offset) {
    text_.clear();
    while (read_line() && !(line_.empty() && !text_.empty())) {
      if (line_.empty()) {
        continue;
      }
      if (text_.empty()) {
        offset = from_ + lines_->offset();
      } else {
        text_ += '\n';
      }
      text_ += line_;
    }
    return !text_.empty();
  }

  void check_utf8(uint64_t offset) const {
    const size_t wrong = first_invalid_utf8(text_);
    if (wrong != std::string::npos) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: byte %llu is not UTF-8 (0x%02x)",
                file_.path().c_str(), static_cast<unsigned long long>(offset + wrong),
                static_cast<unsigned>(static_cast<unsigned char>(text_[wrong])));
    }
  }

  File file_;
  std::string split_;
  uint64_t from_;
  uint64_t to_;
  std::unique_ptr<LineReader> lines_;
  std::string line_;
  std::string text_;
  uint64_t index_ = 0;
};

}  // namespace

}  // namespace quench::corpora

QUENCH_MODULE("quench.text", "0.1.0",
              quench::kit::corpus<quench::corpora::Text>({.id = "text",
                                                          .version = "0.1.0",
                                                          .summary = "Plain UTF-8 text: a file, a "
                                                                     "line or a paragraph is one "
                                                                     "document."}))
