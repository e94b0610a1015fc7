#include "core/plugin/process/output_tail.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace quench {

namespace {

// The last `limit` bytes, from the start of a character.
std::string_view last_bytes(std::string_view text, size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  text.remove_prefix(text.size() - limit);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

// Up to `most` lines that are not empty, the last one first.
std::vector<std::string_view> last_lines(std::string_view text, size_t most) {
  std::vector<std::string_view> out;
  while (!text.empty() && out.size() < most) {
    const size_t newline = text.rfind('\n');
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    std::string_view line = text.substr(start);
    while (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    if (!line.empty()) {
      out.push_back(line);
    }
    text = text.substr(0, start == 0 ? 0 : start - 1);
  }
  return out;
}

}  // namespace

void OutputTail::add(std::string_view printed) {
  kept_.append(last_bytes(printed, kMostBytes));
  if (kept_.size() > 2 * kMostBytes) {
    kept_.erase(0, kept_.size() - kMostBytes);
  }
}

std::string OutputTail::text() const {
  std::vector<std::string_view> lines = last_lines(last_bytes(kept_, kMostBytes), kMostLines);
  std::string out;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    out += (out.empty() ? "" : "\n") + printable(*line, kMostBytes);
  }
  return std::string(last_bytes(out, kMostBytes));  // escaped, it is longer
}

std::string on_one_line(std::string_view lines, size_t limit) {
  const std::string_view end = last_bytes(lines, limit);
  std::string out = end.size() < lines.size() ? "..." : "";
  for (const char c : end) {
    out += c == '\n' ? " | " : std::string(1, c);
  }
  return out;
}

}  // namespace quench
