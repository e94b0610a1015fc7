#include "cli/output_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/progress_line.hpp"
#include "cli/standard_streams.hpp"

namespace quench {

namespace {

constexpr size_t kUsual = 80;  // of a terminal that does not say

}  // namespace

std::optional<size_t> terminal_columns(int descriptor) {
  if (::isatty(descriptor) != 1) {
    return std::nullopt;
  }
  winsize size{};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return (known ? size.ws_col : kUsual) - 1;
}

std::optional<size_t> output_columns() {
  return terminal_columns(::fileno(results()));
}

std::string fitted_lines(const std::string& text, size_t indent) {
  const std::optional<size_t> columns = output_columns();
  if (!columns) {
    return text;
  }
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    out += columns_of(line) <= *columns ? line : folded(line, *columns, indent);
    out += end < text.size() ? "\n" : "";
    begin = end + 1;
  }
  return out;
}

}  // namespace quench
