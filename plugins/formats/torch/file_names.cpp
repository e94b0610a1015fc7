#include "formats/torch/file_names.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>

#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

struct Number {
  std::string word;  // the letters before it, lower case
  int64_t value = -1;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "tokens20B" has 20 000 000 000.
int64_t unit_of(char suffix) {
  switch (suffix) {
    case 'K':
      return 1'000;
    case 'M':
      return 1'000'000;
    case 'B':
      return 1'000'000'000;
    case 'T':
      return 1'000'000'000'000;
    default:
      return 1;
  }
}

// The numbers of a name with the word before each; '-', '_' and '.' between them do not count.
std::vector<Number> numbers_in(std::string_view name) {
  std::vector<Number> out;
  std::string word;
  for (size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      const char c = name[i++];
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (i < name.size() && !is_digit(name[i])) {
        word.clear();
      }
      continue;
    }
    Number number{word, -1};
    const char* end = name.data() + name.size();
    const auto [next, error] = std::from_chars(name.data() + i, end, number.value);
    i = static_cast<size_t>(next - name.data());
    const int64_t unit = i < name.size() ? unit_of(name[i]) : 1;
    if (error == std::errc() && !__builtin_mul_overflow(number.value, unit, &number.value)) {
      out.push_back(number);
    }
    word.clear();
  }
  return out;
}

bool ends_with_any(const std::string& word, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return word.ends_with(ending); });
}

}  // namespace

bool is_archive_name(std::string_view name) {
  return name.ends_with(".pth") || name.ends_with(".pt");
}

std::vector<std::string> archives_of(const kit::Place& place) {
  std::vector<std::string> out = place.names();
  std::erase_if(out, [](const std::string& name) { return !is_archive_name(name); });
  return out;
}

std::string listing(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() > kShown ? out + fmt::format(" and {} more", names.size() - kShown) : out;
}

kit::CheckpointEntry entry_of(const std::string& name) {
  kit::CheckpointEntry out{name};
  const std::vector<Number> numbers = numbers_in(name.substr(0, name.rfind('.')));
  for (const Number& number : numbers) {
    if (ends_with_any(number.word, {"tokens", "token"})) {
      out.tokens = number.value;
    } else if (ends_with_any(number.word,
                             {"step", "steps", "iter", "iteration", "checkpoint", "ckpt"})) {
      out.step = number.value;
    }
  }
  if (out.step < 0 && out.tokens < 0 && numbers.size() == 1) {
    out.step = numbers.front().value;
  }
  return out;
}

}  // namespace quench::formats
