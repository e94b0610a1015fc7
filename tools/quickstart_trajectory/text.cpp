#include "tools/quickstart_trajectory/text.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace quickstart {

namespace fs = std::filesystem;

namespace {

constexpr size_t kValidationBytes = 32768;
constexpr size_t kCalibrationBytes = 32768;
constexpr size_t kTrainingBytes = 1 << 20;  // at least

// The file without its licence comment, which is the same in all, and in ASCII, so that one byte is
// one character is one token.
std::string read_header(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const size_t start = text.find("\n#");
  text.erase(0, start == std::string::npos ? 0 : start + 1);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 128; }, '?');
  return text;
}

}  // namespace

Text read_text(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".h") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  Text text;
  for (size_t i = 0; i < files.size(); ++i) {
    (i % 8 == 7 ? text.validation : text.training) += read_header(files[i]);
  }
  if (text.training.size() < kTrainingBytes || text.validation.size() < kValidationBytes) {
    throw std::runtime_error(folder.string() + ": got " + std::to_string(text.training.size()) +
                             " bytes of headers to train on, wanted " +
                             std::to_string(kTrainingBytes));
  }
  text.validation.resize(kValidationBytes);
  text.calibration = text.training.substr(0, kCalibrationBytes);
  return text;
}

}  // namespace quickstart
