#include "core/base/config/yaml_fault.hpp"

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace quench {

namespace {

// What is wrong with the indentation of the last line up to `last` that has other blanks than
// spaces, or "". Two lines at most are looked at: what the parser complains about begins in one of
// them. Text copied from a page has U+00A0, which looks like a space.
std::string odd_blank(std::string_view text, int last) {
  constexpr std::pair<std::string_view, const char*> kOdd[] = {
      {"\t", "a tab"},
      {"\u00a0", "a no-break space (U+00A0)"},
      {"\u3000", "a wide space (U+3000)"}};
  std::string found;
  int number = 1;
  for (size_t from = 0; from < text.size() && number <= last; ++number) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    const std::string_view blanks = line.substr(0, line.find_first_not_of(" \t\u00a0\u3000"));
    for (const auto& [blank, name] : kOdd) {
      if (number + 1 >= last && blanks.find(blank) != std::string_view::npos) {
        found = fmt::format("{}: the line is indented by {}; wanted spaces", number, name);
      }
    }
    from = end + 1;
  }
  return found;
}

// What is wrong with the indentation of a line, or "": it is none of those that are open above it.
std::string indentation_fault(std::string_view text, int at) {
  std::vector<std::pair<size_t, int>> open;  // indentation, its line
  int number = 1;
  for (size_t from = 0; from < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, end - from);
    from = end + 1;
    size_t indent = line.find_first_not_of(" \r");
    if (indent == std::string_view::npos || line[indent] == '#') {
      continue;
    }
    const auto distance = [&](const auto& each) {
      return std::max(each.first, indent) - std::min(each.first, indent);
    };
    if (number == at) {
      const auto near =
          std::min_element(open.rbegin(), open.rend(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
      return near == open.rend() || near->first == indent
                 ? ""
                 : fmt::format("the line is indented by {}, wanted {}, as in line {}", indent,
                               near->first, near->second);
    }
    std::erase_if(open, [&](const auto& each) { return each.first >= indent; });
    open.emplace_back(indent, number);
    while (line.substr(indent).starts_with("- ")) {  // what follows a dash is indented, too
      indent = std::min(line.find_first_not_of(' ', indent + 1), line.size());
      open.emplace_back(indent, number);
    }
  }
  return "";
}

// The line of a place, without its end.
std::string_view line_of(std::string_view text, const YAML::Mark& place) {
  size_t from = 0;
  for (int i = 0; i < place.line && from < text.size(); ++i) {
    from = std::min(text.find('\n', from), text.size() - 1) + 1;
  }
  return text.substr(from, text.find('\n', from) - from);
}

// "9:16: wanted a space behind `:`" where a line, up to the column of the parser's complaint, lacks
// one that YAML needs; else "".
std::string missing_space(std::string_view text, const YAML::Exception& error) {
  const std::string_view line = line_of(text, error.mark);
  const auto behind = [&](char sign, size_t at) {
    return fmt::format("{}:{}: wanted a space behind `{}`", error.mark.line + 1, at + 2, sign);
  };
  if (error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW) {
    // `bits:[3, 4]` is a word with a list behind it, at which the parser stops.
    const auto at = static_cast<size_t>(error.mark.column);
    if (at > 0 && at < line.size() && line[at - 1] == ':' && (line[at] == '[' || line[at] == '{')) {
      return behind(':', at - 1);
    }
  }
  if (error.msg == YAML::ErrorMsg::END_OF_MAP || error.msg == YAML::ErrorMsg::END_OF_SEQ) {
    const size_t first = line.find_first_not_of(' ');
    if (first + 1 < line.size() && line[first] == '-' &&
        std::string_view(" -\t\r").find(line[first + 1]) == std::string_view::npos) {
      return behind('-', first);
    }
  }
  return "";
}

// Whether a place is the first colon of its line: that of the key which begins it.
bool is_first_colon(std::string_view text, const YAML::Mark& place) {
  return line_of(text, place).find(':') == static_cast<size_t>(place.column);
}

// A bracket or a quote that is not closed yet, and where it stands, both counted from 1.
struct Opened {
  char sign = 0;
  int line = 0;
  int column = 0;
  char closing() const { return sign == '{' ? '}' : sign == '[' ? ']' : sign; }
  bool is_quote() const { return sign == '"' || sign == '\''; }
};

bool is_in(std::string_view signs, char sign) {
  return signs.find(sign) != std::string_view::npos;
}

// What is open in front of a place, the innermost last. A bracket or a quote within a plain word,
// as in "it's", opens nothing.
std::vector<Opened> open_at(std::string_view text, const YAML::Mark& place) {
  std::vector<Opened> open;
  int line = 1;
  int column = 1;
  char before = '\n';  // the last character that is no blank
  char last = '\n';
  bool comment = false;
  bool escaped = false;
  for (const char c : text) {
    if (line > place.line + 1 || (line == place.line + 1 && column > place.column)) {
      break;
    }
    const bool quoted = !open.empty() && open.back().is_quote();
    comment = c != '\n' && (comment || (!quoted && c == '#' && is_in(" \n", last)));
    if (quoted) {
      if (c == open.back().sign && !escaped) {
        open.pop_back();
      }
      escaped = open.empty() ? false : c == '\\' && !escaped && open.back().sign == '"';
    } else if (!comment && is_in("}]", c) && !open.empty()) {
      open.pop_back();
    } else if (!comment && is_in("{[\"'", c) && (is_in("\n[{,:-", before) || before == '\'')) {
      open.push_back({c, line, column});
    }
    last = c;
    before = c == ' ' || comment ? before : c;
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n' ? 1 : 0;
  }
  return open;
}

// What is wrong with the brackets, quotes and colons of a line, or "".
std::string sign_fault(std::string_view text, const YAML::Exception& error) {
  const std::vector<Opened> open = open_at(text, error.mark);
  if (error.msg == YAML::ErrorMsg::MAP_VALUE) {
    return "a value with a `:` behind it; wanted each entry in a line of its own, or {...} around "
           "those that lie inside another";
  }
  if (error.msg == YAML::ErrorMsg::FLOW_END) {
    return open.empty()
               ? "a bracket that closes none; wanted none"
               : fmt::format(
                     "a bracket that does not close the `{}` of line {}, column "
                     "{}; wanted `{}`",
                     open.back().sign, open.back().line, open.back().column, open.back().closing());
  }
  if (open.empty() || (error.msg != YAML::ErrorMsg::END_OF_MAP_FLOW &&
                       error.msg != YAML::ErrorMsg::END_OF_SEQ_FLOW &&
                       error.msg != YAML::ErrorMsg::EOF_IN_SCALAR)) {
    return "";
  }
  return fmt::format("the `{}` of line {}, column {} is not closed; wanted `{}`{}",
                     open.back().sign, open.back().line, open.back().column, open.back().closing(),
                     open.back().is_quote() ? "" : " or `,`");
}

}  // namespace

std::string yaml_fault(std::string_view text, const YAML::Exception& error) {
  const int line = error.mark.line + 1;
  if (std::string odd = odd_blank(text, line); !odd.empty()) {
    return odd;
  }
  if (std::string missing = missing_space(text, error); !missing.empty()) {
    return missing;
  }
  if (error.msg == YAML::ErrorMsg::END_OF_MAP || error.msg == YAML::ErrorMsg::END_OF_SEQ) {
    if (const std::string fault = indentation_fault(text, line); !fault.empty()) {
      return fmt::format("{}: {}", line, fault);
    }
  }
  if (error.msg == YAML::ErrorMsg::MAP_VALUE && is_first_colon(text, error.mark)) {
    if (const std::string fault = indentation_fault(text, line); !fault.empty()) {
      return fmt::format("{}: {}", line, fault);
    }
  }
  const std::string fault = sign_fault(text, error);
  return fmt::format("{}:{}: {}", line, error.mark.column + 1, fault.empty() ? error.msg : fault);
}

}  // namespace quench
