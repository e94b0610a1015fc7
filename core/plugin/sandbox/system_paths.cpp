#include "core/plugin/sandbox/system_paths.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace quench {

namespace {

namespace fs = std::filesystem;

// Libraries and how the loader finds them; what says how many processors, how much memory and which
// time zone there is; sources of nothing and of chance.
constexpr const char* kAlways[] = {
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/osrelease",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
};

// Names of users for `os.path.expanduser`, kinds of files for `mimetypes`.
constexpr const char* kOfPython[] = {"/etc/nsswitch.conf", "/etc/passwd", "/etc/group",
                                     "/etc/mime.types"};

// What the driver's library reads about the devices and itself.
constexpr const char* kOfGpu[] = {"/proc/driver",
                                  "/proc/devices",
                                  "/proc/modules",
                                  "/proc/sys/vm/mmap_min_addr",
                                  "/proc/sys/vm/max_map_count",
                                  "/sys/bus/pci",
                                  "/sys/class/pci_bus",
                                  "/sys/module"};

// Entries of a folder whose names begin so.
std::vector<std::string> entries(const fs::path& folder, const std::string& beginning) {
  std::vector<std::string> out;
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) {
    if (entry.path().filename().string().starts_with(beginning)) {
      out.push_back(entry.path());
    }
  }
  return out;
}

// Where this system's loader looks for libraries beside the usual folders.
std::vector<std::string> folders_of_loader() {
  std::vector<std::string> out;
  std::vector<std::string> files = entries("/etc/ld.so.conf.d", "");
  files.emplace_back("/etc/ld.so.conf");
  for (const std::string& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('/')) {
        out.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
      }
    }
  }
  return out;
}

}  // namespace

std::vector<SystemPath> system_paths(SandboxProfile profile) {
  using Use = SystemPath::Use;
  std::vector<SystemPath> out = {{"/dev/null", Use::kWrite}};
  const auto add = [&](const auto& paths, Use use) {
    for (const auto& path : paths) {
      out.push_back({path, use});
    }
  };
  add(kAlways, Use::kRead);
  add(folders_of_loader(), Use::kRead);
  if (profile == SandboxProfile::kPython) {
    add(kOfPython, Use::kRead);
    add(entries("/etc", "python3"), Use::kRead);  // sitecustomize.py lies there on Debian
  }
  if (profile == SandboxProfile::kGpu) {
    add(kOfGpu, Use::kRead);
    add(entries("/sys/devices", "pci"), Use::kRead);
    add(entries("/dev", "nvidia"), Use::kDevice);
  }
  return out;
}

std::vector<std::string> program_loaders() {
  std::vector<std::string> out = entries("/lib64", "ld-");
  for (std::string& loader : entries("/lib", "ld-")) {
    out.push_back(std::move(loader));
  }
  return out;
}

}  // namespace quench
