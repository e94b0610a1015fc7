#include "core/error.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace quench {

void stop_if_asked(const std::atomic<bool>* asked) {
  if (asked != nullptr && *asked) {
    fail(QUENCH_CANCELLED, "stopped on request");
  }
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {QUENCH_RESOURCE_EXHAUSTED, "no memory left"};
  } catch (const std::filesystem::filesystem_error& error) {
    return {QUENCH_FAILED_PRECONDITION,
            fmt::format("{}: {}", error.path1().string(), error.code().message())};
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return {QUENCH_UNAVAILABLE,
              fmt::format("no thread can be started: {}", error.code().message())};
    }
    return {QUENCH_INTERNAL, fmt::format("internal error: {}", error.what())};
  } catch (const std::exception& error) {
    return {QUENCH_INTERNAL, fmt::format("internal error: {}", error.what())};
  } catch (...) {
    return {QUENCH_INTERNAL, "internal error: an exception of no known type"};
  }
}

const char* status_name(quench_status code) {
  switch (code) {
    case QUENCH_OK:
      return "ok";
    case QUENCH_INVALID_ARGUMENT:
      return "invalid argument";
    case QUENCH_FAILED_PRECONDITION:
      return "failed precondition";
    case QUENCH_NOT_FOUND:
      return "not found";
    case QUENCH_UNSUPPORTED:
      return "unsupported";
    case QUENCH_RESOURCE_EXHAUSTED:
      return "resource exhausted";
    case QUENCH_DATA_LOSS:
      return "data loss";
    case QUENCH_NUMERICAL:
      return "numerical failure";
    case QUENCH_CANCELLED:
      return "cancelled";
    case QUENCH_INTERNAL:
      return "internal error";
    case QUENCH_END:
      return "end";
    case QUENCH_UNAVAILABLE:
      return "unavailable";
    default:
      return "unknown status";
  }
}

quench_status report_error(quench_error* error, quench_status code,
                           std::string_view message) noexcept {
  if (error != nullptr && error->struct_size >= sizeof(quench_error)) {
    size_t kept = std::min(message.size(), sizeof error->message - 1);
    while (kept < message.size() && kept > 0 &&
           (static_cast<unsigned char>(message[kept]) & 0xC0) == 0x80) {
      --kept;  // not in the middle of a UTF-8 sequence
    }
    std::copy_n(message.data(), kept, error->message);
    error->message[kept] = '\0';
    error->code = code;
  }
  return code;
}

namespace {

// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool outside = (first == 0xED && byte(1) >= 0xA0) || (first == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

// Of a valid sequence.
uint32_t code_point(std::string_view sequence) {
  const size_t length = sequence.size();
  uint32_t out =
      static_cast<unsigned char>(sequence[0]) & (length == 1 ? 0x7Fu : 0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    out = out << 6 | (static_cast<unsigned char>(sequence[i]) & 0x3Fu);
  }
  return out;
}

// Whether the character has no shape but ends a line or changes the direction of the text around
// it, so that what is shown reads otherwise than what is there.
bool misleads(uint32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  size_t i = 0;
  while (i < text.size() && out.size() < limit) {
    const size_t length = utf8_length(text.substr(i));
    const uint32_t code =
        length == 0 ? static_cast<unsigned char>(text[i]) : code_point(text.substr(i, length));
    if (length == 0 || code < 0x20 || (code >= 0x7F && code < 0xA0)) {
      out += fmt::format("\\x{:02x}", code);
    } else if (misleads(code)) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out.append(text.substr(i, length));
    }
    i += std::max(length, size_t{1});
  }
  if (i < text.size()) {
    out += "...";
  }
  return out;
}

size_t first_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

namespace {

// Longer words are not compared; the longest names of tensors have about 100 bytes.
constexpr size_t kLongestWord = 256;
// Entries of the tables of distances that one search may fill: some hundredths of a second.
constexpr size_t kMostSteps = size_t{1} << 24;

bool same_letter(char a, char b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return small(a) == small(b);
}

// Edit distance in which two letters that changed places count once (optimal string alignment) and
// capitals are letters like others, or `bound` where it is no less. Three rows of the table are
// kept, and of each row only what is less than `bound` away from the diagonal is filled; `steps`
// counts those entries.
size_t distance(std::string_view a, std::string_view b, size_t bound, size_t& steps) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= bound) {
    return bound;
  }
  std::vector<size_t> before(b.size() + 1, bound);
  std::vector<size_t> above(b.size() + 1, bound);
  std::vector<size_t> row(b.size() + 1, bound);
  for (size_t j = 0; j <= std::min(b.size(), bound); ++j) {
    above[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    const size_t first = i >= bound ? i - bound + 1 : 0;
    const size_t last = std::min(b.size(), i + bound - 1);
    std::fill(row.begin(), row.end(), bound);
    size_t least = bound;
    for (size_t j = first; j <= last; ++j) {
      size_t least_edits = above[j] + 1;
      if (j > 0) {
        const size_t substitute = above[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
        least_edits = std::min({least_edits, row[j - 1] + 1, substitute});
      }
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1])) {
        least_edits = std::min(least_edits, before[j - 2] + 1);
      }
      row[j] = std::min(least_edits, bound);
      least = std::min(least, row[j]);
    }
    steps += last - first + 1;
    if (least == bound) {
      return bound;
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::string found;
  if (word.size() > kLongestWord) {
    return found;
  }
  size_t steps = 0;
  for (const std::string& candidate : candidates) {
    const size_t far = distance(word, candidate, best, steps);
    if (far < best) {
      best = far;
      found = candidate;
    }
    if (best == 0 || ++steps > kMostSteps) {
      break;
    }
  }
  return found;
}

}  // namespace quench
