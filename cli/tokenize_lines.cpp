#include "cli/tokenize_lines.hpp"

#include <istream>
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
    fail(QUENCH_INVALID_ARGUMENT, "line {}: expected a JSON string, got {}", number,
         value.type_name());
  } catch (const nlohmann::json::exception&) {
    fail(QUENCH_INVALID_ARGUMENT, "line {}: not a JSON string: {}", number, printable(line, 60));
  }
}

std::vector<int32_t> encode_line(Tokenizer& tokenizer, const std::string& text, bool special,
                                 size_t number) {
  try {
    return tokenizer.encode(text, special);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("line {}: {}", number, error.what()));
  }
}

}  // namespace

int tokenize(Tokenizer& tokenizer, std::istream& in, std::ostream& out, bool special) {
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    const auto ids = encode_line(tokenizer, parse_line(line, number), special, number);
    out << fmt::format("[{}]\n", fmt::join(ids, ","));
    if (!out) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "line {}: the ids could not be written", number);
    }
  }
  if (in.bad()) {
    fail(QUENCH_DATA_LOSS, "the lines could not be read to their end");
  }
  out.flush();
  if (!out) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "the ids could not be written");
  }
  return 0;
}

}  // namespace quench
