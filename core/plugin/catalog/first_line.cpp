#include "core/plugin/catalog/first_line.hpp"

#include <algorithm>

#include "core/base/io/file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLongestFirstLine = 4096;

}  // namespace

std::vector<std::string> first_line_words(const fs::path& path) {
  const File file(path);
  std::string head(std::min(file.size(), kLongestFirstLine), '\0');
  head.resize(file.read_present(0, head.data(), head.size()));
  std::vector<std::string> words;
  if (!head.starts_with("#!")) {
    return words;
  }
  const std::string line = head.substr(2, head.find('\n') - 2);
  constexpr const char* kSpace = " \t\r";
  for (size_t from = line.find_first_not_of(kSpace); from != std::string::npos;) {
    const size_t end = line.find_first_of(kSpace, from);
    words.push_back(line.substr(from, end - from));
    from = line.find_first_not_of(kSpace, end);
  }
  return words;
}

}  // namespace quench
