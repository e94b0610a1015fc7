#include "cli/tokenize_lines.hpp"

#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.hpp"

namespace quench {

namespace {

std::string parse_line(const std::string& line, size_t number) {
  try {
    const nlohmann::json value = nlohmann::json::parse(line);
    if (value.is_string()) {
      return value.get<std::string>();
    }
    fail(QUENCH_INVALID_ARGUMENT, "line {}: got {}, wanted a JSON string", number,
         value.type_name());
  } catch (const nlohmann::json::exception&) {
    fail(QUENCH_INVALID_ARGUMENT, "line {}: not a JSON string: {}", number, printable(line, 60));
  }
}

// Input that is encoded at a time: enough for every thread, little to hold.
constexpr size_t kBatchBytes = size_t{1} << 20;

// Lines that are encoded together, because one call of the plugin costs as much as a short line.
class LineBatch {
 public:
  LineBatch(Tokenizer& tokenizer, std::ostream& out, bool special)
      : tokenizer_(tokenizer), out_(out), special_(special) {}

  void add(const std::string& line) {
    texts_.add(parse_line(line, first_line_ + texts_.documents()));
    input_bytes_ += line.size() + 1;
  }
  bool is_full() const { return input_bytes_ >= kBatchBytes; }

  // Writes the ids of all lines that were added.
  void flush() {
    try {
      write(tokenizer_.encode(texts_, special_));
    } catch (const Error&) {
      // Once more, one by one: the lines before the bad one are written, and it is named.
      encode_singly();
    }
    first_line_ += texts_.documents();
    texts_.clear();
    input_bytes_ = 0;
  }

 private:
  void write(const EncodedBatch& encoded) {
    fmt::memory_buffer text;
    for (size_t d = 0; d < encoded.documents(); ++d) {
      fmt::format_to(std::back_inserter(text), "[{}]\n", fmt::join(encoded.document(d), ","));
    }
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  }

  void encode_singly() {
    const std::string_view all = texts_.text();
    for (size_t d = 0; d < texts_.documents(); ++d) {
      try {
        TextBatch one;
        one.add(all.substr(texts_.offsets()[d], texts_.bytes_of(d)));
        write(tokenizer_.encode(one, special_));
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("line {}: {}", first_line_ + d, error.what()));
      }
    }
  }

  Tokenizer& tokenizer_;
  std::ostream& out_;
  bool special_;
  TextBatch texts_;
  size_t input_bytes_ = 0;
  size_t first_line_ = 1;
};

}  // namespace

int tokenize(Tokenizer& tokenizer, std::istream& in, std::ostream& out, bool special) {
  LineBatch batch(tokenizer, out, special);
  const auto flush = [&] {
    batch.flush();
    out.flush();
    if (!out) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "the ids could not be written");
    }
  };
  std::string line;
  while (std::getline(in, line)) {
    try {
      batch.add(line);
    } catch (const Error&) {
      flush();
      throw;
    }
    // A writer that waits after each line gets its ids at once.
    if (batch.is_full() || in.rdbuf()->in_avail() <= 0) {
      flush();
    }
  }
  flush();
  if (in.bad()) {
    fail(QUENCH_DATA_LOSS, "the lines could not be read to their end");
  }
  return 0;
}

}  // namespace quench
