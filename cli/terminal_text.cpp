#include "cli/terminal_text.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/amounts.hpp"
#include "cli/standard_streams.hpp"

namespace quench {

std::optional<size_t> terminal_columns(int descriptor) {
  if (::isatty(descriptor) != 1) {
    return std::nullopt;
  }
  constexpr size_t kUsual = 80;  // of a terminal that does not say
  winsize size{};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return (known ? size.ws_col : kUsual) - 1;
}

std::optional<size_t> output_columns() {
  return terminal_columns(::fileno(results()));
}

namespace {

// Every line that does not fit folded, with the indent that `indent_of` gives for it.
template <typename IndentOf>
std::string folded_lines(const std::string& text, size_t columns, LongWord longer,
                         IndentOf indent_of) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    out += columns_of(line) <= columns ? line : folded(line, columns, indent_of(line), longer);
    out += end < text.size() ? "\n" : "";
    begin = end + 1;
  }
  return out;
}

// Where the explanation of a line "  --option VALUE    explanation" begins, and the text of one
// without an option.
size_t explanation_of(const std::string& line) {
  const size_t text = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", text);
  const size_t after = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return after == std::string::npos ? text : after;
}

}  // namespace

std::string fitted_lines(const std::string& text, size_t indent) {
  const std::optional<size_t> columns = output_columns();
  return columns ? folded_lines(text, *columns, LongWord::kCut,
                                [&](const std::string&) { return indent; })
                 : text;
}

std::string folded_help(const std::string& text, size_t columns) {
  constexpr size_t kLeastRoom = 20;  // columns for the explanations beside their options
  constexpr size_t kBelow = 6;       // their indent where there is less
  return folded_lines(text, columns, LongWord::kUncut, [&](const std::string& line) {
    const size_t indent = explanation_of(line);
    return columns >= kLeastRoom && indent <= columns - kLeastRoom ? indent : kBelow;
  });
}

std::string fitted_help(const std::string& text) {
  const std::optional<size_t> columns = output_columns();
  return columns ? folded_help(text, *columns) : text;
}

namespace {

constexpr size_t kBar = 20;
constexpr std::string_view kCut = "...";

std::string bar_of(double share) {
  const auto full = static_cast<size_t>(share * static_cast<double>(kBar));
  return fmt::format(" [{}{}]", std::string(full, '#'), std::string(kBar - full, '.'));
}

// "870", "1.2k", "35M".
std::string count_text(double count) {
  constexpr std::string_view kSteps = " kMGT";
  size_t step = 0;
  for (; count >= 999.5 && step + 1 < kSteps.size(); ++step) {
    count /= 1000;
  }
  const std::string digits =
      count < 9.95 ? fmt::format("{:.2g}", count) : fmt::format("{:.0f}", count);
  return step == 0 ? digits : digits + kSteps[step];
}

std::string unit_of(const std::string& work) {
  const size_t space = work.find_last_of(' ');
  return space == std::string::npos ? work : work.substr(space + 1);
}

// The byte after the first `columns` characters.
size_t byte_at(const std::string& text, size_t columns) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && columns-- == 0) {
      break;
    }
  }
  return at;
}

std::string cut(const std::string& text, size_t columns) {
  if (columns_of(text) <= columns) {
    return text;
  }
  if (columns <= kCut.size()) {
    return text.substr(0, byte_at(text, columns));
  }
  std::string kept = text.substr(0, byte_at(text, columns - kCut.size()));
  kept.erase(kept.find_last_not_of(' ') + 1);
  return kept + std::string(kCut);
}

}  // namespace

size_t columns_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string progress_line(const ProgressState& state, size_t columns) {
  const std::string count =
      state.cells_total == 0 ? "" : fmt::format("[{}/{}] ", state.cells_done, state.cells_total);
  std::string share;
  std::string bar;
  std::string rate;
  std::string left;
  if (state.total > 0) {
    const double part =
        std::clamp(static_cast<double>(state.done) / static_cast<double>(state.total), 0.0, 1.0);
    share = fmt::format(": {:.0f} %", std::floor(100 * part));
    bar = bar_of(part);
    if (state.rate > 0 && state.done <= state.total) {
      rate = fmt::format(", {} {}/s", count_text(state.rate), unit_of(state.work));
      left = fmt::format(", {} left",
                         duration_text(static_cast<double>(state.total - state.done) / state.rate));
    }
  }
  const std::string all =
      state.run_left ? fmt::format("; whole run {} left", duration_text(*state.run_left)) : "";
  const std::string short_tail = share + left;
  for (const std::string& tail : {fmt::format("{}{}{}{}{}", share, bar, rate, left, all),
                                  fmt::format("{}{}{}{}", share, bar, rate, left),
                                  fmt::format("{}{}{}", share, rate, left), short_tail, share}) {
    const size_t taken = columns_of(count) + columns_of(tail);
    // A name that is cut to nothing does not tell what is done.
    const size_t least = std::min<size_t>(columns_of(state.step), 16);
    if (taken + least <= columns) {
      const bool whole = taken + columns_of(state.step) <= columns;
      if (whole || tail == share || tail == short_tail) {
        return fmt::format("{}{}{}", count, cut(state.step, columns - taken), tail);
      }
    }
  }
  return cut(count + state.step + share, columns);
}

std::string shortened(const std::string& text, size_t columns) {
  if (columns_of(text) <= columns) {
    return text;
  }
  if (columns == 0) {
    return "";
  }
  const auto in_number = [&](size_t i) {
    return (text[i] >= '0' && text[i] <= '9') || text[i] == '.';
  };
  size_t end = byte_at(text, columns - 1);
  if (end > 0 && in_number(end)) {
    while (end > 0 && in_number(end - 1)) {
      --end;
    }
  }
  while (end > 0 && text[end - 1] == ' ') {
    --end;
  }
  return text.substr(0, end) + "…";
}

std::string folded(const std::string& message, size_t columns, size_t indent, LongWord longer) {
  std::string out;
  size_t used = 0;
  bool begins = true;    // no word stands on the line yet
  bool wrapped = false;  // the line goes on with a message
  for (size_t from = 0; from < message.size();) {
    size_t end = message.find_first_of(" \n", from);
    end = end == std::string::npos ? message.size() : end;
    std::string word = message.substr(from, end - from);
    if (!begins && used + 1 + columns_of(word) > columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      begins = wrapped = true;
    } else if (!begins) {
      out += ' ';
      ++used;
    }
    while (longer == LongWord::kCut && columns > indent &&
           used + columns_of(word) > columns) {  // a path
      const size_t part = byte_at(word, columns - used);
      out += word.substr(0, part) + "\n" + std::string(indent, ' ');
      word = word.substr(part);
      used = indent;
      wrapped = true;
    }
    out += word;
    used += columns_of(word);
    begins = begins && wrapped && word.empty();  // no spaces at the start of such a line
    if (end < message.size() && message[end] == '\n') {
      out += '\n';
      used = 0;
      begins = true;
      wrapped = false;
    }
    from = end + 1;
  }
  return out;
}

}  // namespace quench
