// SHA256SUMS beside the plugins of an installation: which files came with it, and their bytes. A
// build tree has no such file, as what lies there changes with every build.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace quench {

class InstallationList {
 public:
  // `folder`: of the program's own plugins; "": there are none.
  explicit InstallationList(const std::filesystem::path& folder);

  // Whether the file, given by its real path, came with the program: the list has it, or it lies in
  // the folder and there is no list.
  bool has(const std::filesystem::path& file) const;
  // Throws Error(DATA_LOSS) if the list has other bytes for the file, or cannot be read.
  void check(const std::filesystem::path& file, const std::string& sha256) const;
  // Holds the code for GPUs in the folder to the list; from then on it is code that runs
  // (running_code.hpp). Does nothing where there are none. Throws Error(DATA_LOSS) naming the file.
  void hold_kernels() const;

 private:
  // Relative to the folder; "" where the file lies elsewhere.
  std::string name_of(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  std::filesystem::path real_folder_;
  bool exists_ = false;
  std::string fault_;                          // why the list cannot be read, or ""
  std::map<std::string, std::string> sha256_;  // by name
};

}  // namespace quench
