// The text that the trajectory learns: C++ standard library headers, which are on every machine
// that can build this program.
#pragma once

#include <filesystem>
#include <string>

namespace quickstart {

struct Text {
  std::string training;
  std::string validation;   // of files that are not in `training`
  std::string calibration;  // a piece of `training`
};

// Reads the headers of `folder` in the order of their names. Throws std::runtime_error when there
// is not enough text.
Text read_text(const std::filesystem::path& folder);

}  // namespace quickstart
