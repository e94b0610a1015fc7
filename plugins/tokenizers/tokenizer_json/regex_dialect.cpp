#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/pattern.hpp"

namespace quench::tokenizers {

namespace {

// \w of Oniguruma in a class. Where it stands alone, the numbers of Latin-1 belong to it, too.
// PCRE2's has all numbers, and neither marks nor connectors but "_".
constexpr std::string_view kWordInClass = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr std::string_view kWord =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}";

// Letters that Oniguruma takes together for one character where case does not count: "ss" for a
// sharp s, "fi" for a ligature. PCRE2 does not.
constexpr std::array<std::string_view, 5> kFoldedPairs = {"ss", "ff", "fi", "fl", "st"};

// One pass over the expression, copying what both engines read alike.
class Translation {
 public:
  explicit Translation(const Entry& entry) : entry_(entry), in_(entry.string()) {}

  std::string run() {
    if (in_.size() > kPatternLimitBytes) {
      entry_.reject("wanted at most {} bytes, got {}", kPatternLimitBytes, in_.size());
    }
    while (at_ < in_.size()) {
      step();
    }
    return std::move(out_);
  }

 private:
  void step() {
    const char c = in_[at_];
    if (c == '\\') {
      escape();
    } else if (in_class_) {
      inside_class(c);
    } else if (c == '[') {
      open_class();
    } else if (c == '(') {
      group();
    } else if (c == ')') {
      if (!caseless_.empty()) {  // else PCRE2 refuses it
        caseless_.pop_back();
      }
      copy(1);
    } else if (c == '{') {
      interval();
    } else {
      literal(static_cast<unsigned char>(c));
      copy(1);
    }
  }

  bool caseless() const { return !caseless_.empty() && caseless_.back(); }

  // Beyond ASCII the engines differ in which characters are the same but for their case, and of
  // letters side by side in which stand for one.
  void literal(uint32_t code) {
    if (!caseless()) {
      before_ = '\0';
      return;
    }
    if (code > 0x7F) {
      refuse("(?i: beyond ASCII");
    }
    if (in_class_) {
      return;
    }
    const std::array<char, 2> pair = {before_,
                                      static_cast<char>(std::tolower(static_cast<int>(code)))};
    const std::string_view text(pair.data(), pair.size());
    if (std::find(kFoldedPairs.begin(), kFoldedPairs.end(), text) != kFoldedPairs.end()) {
      refuse(std::string(text) + " in (?i:");
    }
    before_ = pair[1];
  }

  void open_class() {
    in_class_ = true;
    before_ = '\0';
    copy(1);
    if (peek(0) == '^') {
      copy(1);
    }
    if (peek(0) == ']') {
      refuse("[]");
    }
  }

  void inside_class(char c) {
    if (c == '[') {
      refuse("[ inside a class");
    }
    if (c == '&' && peek(1) == '&') {
      refuse("&&");
    }
    literal(static_cast<unsigned char>(c));
    in_class_ = c != ']';
    copy(1);
  }

  void escape() {
    const char c = peek(1);
    if (c != 'u' && c != 'x') {
      before_ = '\0';
    }
    if (c == 'w' || c == 'W') {
      word(c == 'W');
    } else if (!in_class_ && (c == 'b' || c == 'B')) {
      boundary(c == 'b');
    } else if (c == 'v') {
      out_ += "\\x0B";  // PCRE2's is every vertical space
      at_ += 2;
    } else if (c == 's' || c == 'S') {
      // PCRE2's \s has U+180E in addition.
      out_ += c == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      at_ += 2;
    } else if (c == 'p' || c == 'P') {
      property();
    } else if (c == 'u' || c == 'x') {
      code_point(c);
    } else if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      // A punctuation mark stands for itself; a lone backslash at the end is PCRE2's to refuse.
      copy(c == '\0' ? 1 : 2);
    } else if (std::string_view("rntfaedD").find(c) != std::string_view::npos ||
               (!in_class_ && (c == 'A' || c == 'z'))) {
      copy(2);
    } else {
      refuse(std::string("\\") + c);
    }
  }

  void word(bool negated) {
    if (in_class_ && negated) {
      refuse("\\W inside a class");
    }
    out_ +=
        in_class_ ? std::string(kWordInClass) : fmt::format("[{}{}]", negated ? "^" : "", kWord);
    at_ += 2;
  }

  // PCRE2's \b asks its own \w.
  void boundary(bool there) {
    out_ += fmt::format("(?:(?<=[{0}])(?{1}[{0}])|(?<![{0}])(?{2}[{0}]))", kWord, there ? "!" : "=",
                        there ? "=" : "!");
    at_ += 2;
  }

  // \p{L}: general categories are the same; scripts are asked for without their extensions.
  void property() {
    const size_t close = in_.find('}', at_);
    if (peek(2) != '{' || close == std::string::npos) {
      refuse(in_.substr(at_, 3));
    }
    if (in_class_ && caseless()) {  // Oniguruma adds the other case there, and only there
      refuse("\\p in a class in (?i:");
    }
    std::string name = in_.substr(at_ + 3, close - at_ - 3);
    const bool negated = !name.empty() && name.front() == '^';
    name.erase(0, negated ? 1 : 0);
    for (const char c : name) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_') {
        refuse(in_.substr(at_, close + 1 - at_));
      }
    }
    out_ += fmt::format("\\{}{{{}{}{}}}", in_[at_ + 1], negated ? "^" : "",
                        name.size() > 2 ? "sc:" : "", name);
    at_ = close + 1;
  }

  // \xHH, \x{H...} and \uHHHH.
  void code_point(char kind) {
    size_t first = at_ + 2;
    size_t last = first;
    const bool braced = kind == 'x' && peek(2) == '{';
    first += braced ? 1 : 0;
    for (last = first; last < in_.size() && std::isxdigit(static_cast<unsigned char>(in_[last]));) {
      ++last;
      if (!braced && last - first == (kind == 'x' ? 2U : 4U)) {
        break;
      }
    }
    const bool complete =
        braced ? last > first && last - first <= 6 && last < in_.size() && in_[last] == '}'
               : last - first == (kind == 'x' ? 2U : 4U);
    const std::string digits = in_.substr(first, last - first);
    // Single bytes above 7F are parts of sequences in Oniguruma.
    if (!complete || (kind == 'x' && !braced && digits > "7F" && digits > "7f")) {
      refuse(in_.substr(at_, 4));
    }
    literal(static_cast<uint32_t>(std::stoul(digits, nullptr, 16)));
    out_ += fmt::format("\\x{{{}}}", digits);
    at_ = last + (braced ? 1 : 0);
  }

  // (?:, (?=, (?!, (?<=, (?<!, (?>, (?i: and (?i) mean the same; Ruby's m is another one.
  void group() {
    if (peek(1) == '*') {
      refuse("(*");
    }
    caseless_.push_back(caseless());
    if (peek(1) != '?') {
      return copy(1);
    }
    for (const std::string_view same :
         {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"}) {
      if (std::string_view(in_).substr(at_, same.size()) == same) {
        if (same.ends_with("i:")) {
          caseless_.back() = same == "(?i:";
        }
        copy(same.size());
        return;
      }
    }
    refuse(in_.substr(at_, 4));
  }

  // {n}, {n,} and {n,m}; a + after it repeats in Ruby and makes possessive in PCRE2.
  void interval() {
    before_ = '\0';
    const size_t close = in_.find('}', at_);
    const std::string body = close == std::string::npos ? "" : in_.substr(at_ + 1, close - at_ - 1);
    const bool counts = !body.empty() &&
                        body.find_first_not_of("0123456789,") == std::string::npos &&
                        body.front() != ',';
    if (!counts || (close + 1 < in_.size() && in_[close + 1] == '+')) {
      refuse(in_.substr(at_, close == std::string::npos ? 2 : close + 2 - at_));
    }
    copy(close + 1 - at_);
  }

  char peek(size_t ahead) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }

  void copy(size_t count) {
    count = std::min(count, in_.size() - at_);
    out_.append(in_, at_, count);
    at_ += count;
  }

  [[noreturn]] void refuse(const std::string& construct) const {
    entry_.unsupported("regular expression: {} at byte {} is not supported",
                       printable(construct, 24), at_);
  }

  const Entry& entry_;
  std::string in_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::vector<bool> caseless_;  // for each open group
  char before_ = '\0';          // the letter before, in lower case, where case does not count
};

}  // namespace

std::string translate_regex(const Entry& entry) {
  return Translation(entry).run();
}

}  // namespace quench::tokenizers
