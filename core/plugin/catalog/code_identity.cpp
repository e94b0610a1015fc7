#include "core/plugin/catalog/code_identity.hpp"

#include <gnu/libc-version.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/foreign_code.hpp"

namespace quench {

namespace {

// MD5 and random ids have 16 bytes, SHA-1 has 20. Shorter ids are quick checksums or set by
// hand.
constexpr size_t kLeastDigits = 32;

// Library names up to ".so".
constexpr std::string_view kWithoutArithmetic[] = {
    // The C library: its version identifies its arithmetic; the rest is loading, threads and names.
    "libanl", "libc", "libdl", "libm", "libmvec", "libnsl", "libpthread", "libresolv", "librt",
    "libutil",
    // Run-time support of compilers: unwinding, containers, streams, exact conversions, checks.
    // Templates and constants are compiled into the plugin itself.
    "libasan", "libatomic", "libc++", "libc++abi", "libgcc_s", "liblsan", "libstdc++", "libtsan",
    "libubsan",
    // Their output is defined bit by bit: digests, lossless compression.
    "libbz2", "libcrypto", "liblz4", "liblzma", "libssl", "libz", "libzstd",
    // They launch and trace what other libraries compute on a GPU.
    "libcudart", "libcupti", "libnvToolsExt"};

bool computes(const std::string& soname) {
  const std::string_view name = std::string_view(soname).substr(0, soname.find(".so"));
  const bool is_loader = name.starts_with("ld-linux");
  return !is_loader && std::find(std::begin(kWithoutArithmetic), std::end(kWithoutArithmetic),
                                 name) == std::end(kWithoutArithmetic);
}

}  // namespace

nlohmann::json code_of_library(const std::string& build_id, const std::string& sha256) {
  return build_id.size() >= kLeastDigits ? nlohmann::json{{"build_id", build_id}}
                                         : nlohmann::json{{"sha256", sha256}};
}

nlohmann::json code_of_python(const nlohmann::json& surroundings, const std::string& sha256,
                              const std::filesystem::path& interpreter) {
  nlohmann::json out = {
      {"python file", sha256},
      {"interpreter", surroundings.at("interpreter").at("version").get<std::string>()},
      {"distributions", surroundings.at("distributions")},
      {"beside", surroundings.at("beside")},
      {"package", surroundings.at("package").get<std::string>()}};
  if (!is_cpython(interpreter)) {
    out["program"] = sha256_of(File(interpreter));
  }
  return out;
}

std::map<std::string, std::string> files_of_python(const nlohmann::json& code,
                                                   const std::filesystem::path& file) {
  std::map<std::string, std::string> out;
  if (const auto own = code.find("python file"); own != code.end()) {
    out[file.string()] = own->get<std::string>();
    for (const auto& [name, sha256] : code.at("beside").items()) {
      std::error_code error;
      out[std::filesystem::weakly_canonical(file.parent_path() / name, error).string()] =
          sha256.get<std::string>();
    }
  }
  return out;
}

nlohmann::json computing_libraries(const std::vector<LinkedLibrary>& links) {
  nlohmann::json out = nlohmann::json::object();
  for (const LinkedLibrary& link : links) {
    if (computes(link.soname)) {
      out[link.soname] = link.build_id.size() >= kLeastDigits
                             ? link.build_id
                             : "sha256:" + sha256_of(File(link.path));
    }
  }
  return out;
}

std::string math_library() {
#if defined(__x86_64__)
  // The same choice as glibc's.
  const bool fuses = __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0;
#else
  const bool fuses = true;
#endif
  return math_library(gnu_get_libc_version(), fuses);
}

std::string math_library(const std::string& version, bool fuses) {
  return fmt::format("glibc {}{}", version, fuses ? " fma" : "");
}

}  // namespace quench
