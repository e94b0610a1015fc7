// A folder that lives as long as the object, for tests that write.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace quench::test {

class TemporaryDir {
 public:
  TemporaryDir();
  ~TemporaryDir();
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // Writes `content` to a file of that name, making folders as needed, and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// The whole content of a file.
std::string read_file(const std::filesystem::path& path);

}  // namespace quench::test
