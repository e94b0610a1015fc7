#include "run/manifest/folder_name.hpp"

#include <string_view>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

// A file name may have 255 bytes, and temporary names are longer than final ones.
constexpr size_t kLongest = 200;
constexpr size_t kShown = 100;
constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._=,@";

std::string escaped(char c) {
  return fmt::format("%{:02X}", static_cast<unsigned char>(c));
}

}  // namespace

std::string folder_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool hides = c == '.' && out.empty();  // also covers "." and ".."
    if (c == ' ') {
      out += '+';
    } else if (kPlain.find(c) != std::string_view::npos && !hides) {
      out += c;
    } else {
      out += escaped(c);
    }
  }
  if (out.size() > kLongest) {
    return out.substr(0, kShown) + "~" + sha256_hex(name);
  }
  return out.empty() ? "%" : out;
}

std::filesystem::path folder_of_job(const std::filesystem::path& folder, size_t job) {
  return job == 0 ? folder : folder / fmt::format("job~{}", job);
}

}  // namespace quench
