#include "cli/error_parts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>

namespace quench {

namespace {

constexpr std::string_view kInternal = "internal error";

// Where `word` stands as a word of its own, from `from` on.
size_t find_word(std::string_view text, std::string_view word, size_t from = 0) {
  const auto part_of_word = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0);
  };
  for (size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || !part_of_word(at - 1)) && !part_of_word(at + word.size())) {
      return at;
    }
  }
  return std::string_view::npos;
}

struct Wanted {
  size_t begins = std::string_view::npos;  // of the word
  size_t value = std::string_view::npos;   // of what follows it
};

Wanted find_wanted(std::string_view text) {
  Wanted out;
  for (const std::string_view word : {"wanted", "expected"}) {
    if (const size_t at = find_word(text, word); at < out.begins) {
      out = {at, at + word.size()};
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" :");
  const size_t end = text.find_last_not_of(" ,;:");
  return begin == std::string_view::npos || end < begin ? std::string_view()
                                                        : text.substr(begin, end - begin + 1);
}

// Up to the next clause.
std::string_view clause(std::string_view text) {
  return trimmed(text.substr(0, text.find(';')));
}

nlohmann::json or_null(std::string_view text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

// The bytes before the first ": " that name a place: a file, an option, a verb, a plugin.
size_t length_of_place(std::string_view line) {
  const size_t end = line.find(": ");
  if (end == std::string_view::npos || end == 0) {
    return 0;
  }
  const std::string_view place = line.substr(0, end);
  const bool sentence = place.find("; ") != std::string_view::npos ||
                        place.find(", ") != std::string_view::npos ||
                        find_word(place, "got") != std::string_view::npos;
  return sentence || place == kInternal ? 0 : end;
}

}  // namespace

nlohmann::json error_parts(std::string_view line) {
  const size_t place = length_of_place(line);
  const std::string_view what = place == 0 ? line : line.substr(place + 2);
  const Wanted wanted = find_wanted(what);
  const std::string_view before = what.substr(0, std::min(wanted.begins, what.size()));
  std::string_view got;
  if (const size_t at = find_word(before, "got"); at != std::string_view::npos) {
    got = clause(before.substr(at + 3));
  } else if (const size_t is = before.rfind(" = ");
             wanted.value < what.size() && is < what.size()) {
    got = clause(before.substr(is + 3));  // "bits = 9, wanted 2..8"
  }
  return {{"where", or_null(line.substr(0, place))},
          {"what", what},
          {"got", or_null(got)},
          {"wanted", wanted.value < what.size() ? or_null(clause(what.substr(wanted.value)))
                                                : nlohmann::json()}};
}

}  // namespace quench
