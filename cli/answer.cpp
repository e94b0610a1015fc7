#include "cli/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/json/or_null.hpp"
#include "core/version.hpp"

namespace quench {

using nlohmann::json;

namespace {

constexpr size_t kMostWarnings = 1000;
constexpr size_t kMaxText = 65536;

struct Failure {
  std::string status;
  std::string message;
};

struct Answer {
  json verb;
  json data;
  std::vector<std::string> warnings;
  size_t unlisted = 0;  // warnings beyond kMostWarnings
  std::optional<Failure> failure;
  bool streams = false;   // the document is printed up to its data
  bool repeated = false;  // documents have been printed, one a line
};

std::mutex mutex;  // plugins warn from any thread
std::optional<Answer> current;

// JSON escapes line breaks in texts, so each one in the text begins a line of the layout.
std::string dumped(const json& value, bool one_line) {
  const std::string text =
      value.dump(one_line ? -1 : 1, ' ', false, json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    out += c;
    if (c == '\n') {
      out += ' ';
    }
  }
  return out;
}

std::string head(const Answer& answer, bool one_line) {
  const json about = {{"version", kVersion}, {"verb", answer.verb}, {"schema", kAnswerSchema}};
  return fmt::format("{{{0}\"quench\": {1},{0}\"data\": ", one_line ? "" : "\n ",
                     about.dump(-1, ' ', false, json::error_handler_t::replace));
}

json described(const Failure& failure, int exit_code) {
  json problems = json::array();
  for (size_t begin = 0; begin < failure.message.size();) {  // a manifest's has one a line
    const size_t end = std::min(failure.message.find('\n', begin), failure.message.size());
    problems.push_back(
        error_parts(printable(failure.message.substr(begin, end - begin), kMaxText)));
    begin = end + 1;
  }
  if (problems.empty()) {
    problems.push_back(error_parts(""));
  }
  json out = problems.front();
  out["status"] = failure.status;
  out["exit_code"] = exit_code;
  out["problems"] = std::move(problems);
  return out;
}

std::string tail(const Answer& answer, int exit_code, bool one_line) {
  json warnings = answer.warnings;
  if (answer.unlisted > 0) {
    warnings.push_back(fmt::format("... and {} more", answer.unlisted));
  }
  json error;
  if (exit_code != kExitOk) {
    error = described(answer.failure.value_or(Failure{"failed", "the command failed"}), exit_code);
  }
  return fmt::format(",{0}\"warnings\": {1},{0}\"error\": {2}{3}}}\n", one_line ? "" : "\n ",
                     dumped(warnings, one_line), dumped(error, one_line), one_line ? "" : "\n");
}

}  // namespace

void begin_answer() {
  const std::lock_guard lock(mutex);
  current.emplace();
}

void name_answer(const std::string& verb) {
  const std::lock_guard lock(mutex);
  if (current && !verb.empty()) {
    current->verb = verb;
  }
}

void drop_answer() {
  const std::lock_guard lock(mutex);
  current.reset();
}

bool answers() {
  const std::lock_guard lock(mutex);
  return current.has_value();
}

void answer(json data) {
  const std::lock_guard lock(mutex);
  if (current) {
    current->data = std::move(data);
  }
}

void begin_answer_data() {
  const std::lock_guard lock(mutex);
  if (current) {
    current->streams = true;
    fmt::print(results(), "{}", head(*current, /*one_line=*/false));
  }
}

void answer_line(const json& data) {
  const std::lock_guard lock(mutex);
  if (current) {
    current->repeated = true;
    fmt::print(results(), "{}{}{}", head(*current, true), dumped(data, true),
               tail(*current, kExitOk, true));
  }
}

void answer_warning(const std::string& line) {
  const std::lock_guard lock(mutex);
  if (!current) {
    return;
  }
  if (current->warnings.size() < kMostWarnings) {
    current->warnings.push_back(printable(line, kMaxText));
  } else {
    ++current->unlisted;
  }
}

int incomplete(const std::string& what) {
  const std::lock_guard lock(mutex);
  if (current) {
    current->failure = Failure{"failed", what};
  }
  return kExitFailed;
}

void answer_error(quench_status code, const std::string& message) {
  const std::lock_guard lock(mutex);
  if (current) {
    current->failure = Failure{status_name(code), message};
  }
}

void end_answer(int exit_code) {
  const std::lock_guard lock(mutex);
  if (!current || (current->repeated && exit_code == kExitOk)) {
    return;
  }
  const bool one_line = current->repeated;
  std::string text =
      current->streams ? "" : head(*current, one_line) + dumped(current->data, one_line);
  text += tail(*current, exit_code, one_line);
  std::fputs(text.c_str(), results());  // what does not arrive, flush_output() reports
  current.reset();
}

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
    got = clause(before.substr(is + 3));  // "group_size = 0, wanted ..."
  }
  return {{"where", or_null(line.substr(0, place))},
          {"what", what},
          {"got", or_null(got)},
          {"wanted", wanted.value < what.size() ? or_null(clause(what.substr(wanted.value)))
                                                : nlohmann::json()}};
}

}  // namespace quench
