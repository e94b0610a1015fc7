// What a process that runs foreign code may do. It reads the system's libraries and what it is
// shown, writes into one folder, computes, and answers on the descriptors it already has. It
// reaches no network, no other process and no other file, and starts nothing. No file that it makes
// is larger than kLargestFileBytes.
//
// What is open already stays usable: the caller passes on only what it means to give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace quench {

// What this kernel offers. All of it is used; what is missing is said.
struct SandboxAbilities {
  int landlock_abi = 0;     // 0: no Landlock, files are not guarded
  bool seccomp = false;     // system calls are filtered
  bool no_network = false;  // no socket of the network can be made
  bool scoped = false;      // abstract sockets and signals of others are out of reach as well
  // "landlock 7, seccomp", "no landlock, seccomp; not enforced: files, /proc of others"
  std::string text;
  bool is_whole = false;  // all that this header says is enforced
};

// `most_landlock`: as if the kernel's Landlock were of no later ABI.
SandboxAbilities sandbox_abilities(int most_landlock = std::numeric_limits<int>::max());

// No file that a confined process writes grows beyond this.
constexpr uint64_t kLargestFileBytes = uint64_t{8} << 30;

enum class SandboxProfile {
  kNative,  // shared objects
  kPython,  // a Python interpreter, which is running already
  kGpu,     // shared objects that use a GPU of NVIDIA
};

struct SandboxRequest {
  SandboxProfile profile = SandboxProfile::kNative;
  std::vector<std::filesystem::path> readable;  // files, and folders with all that is in them
  std::vector<std::filesystem::path> writable;  // folders; they can be read as well
  // Programs that this process may become, no more than one at a time; none: it starts nothing.
  std::vector<std::filesystem::path> executable;
};

// Confines this process for the rest of its life, with what is offered. Call it before foreign code
// is loaded, while the process has one thread. Returns what is in force, SandboxAbilities::text,
// for records. Throws Error: FAILED_PRECONDITION with more than one thread, or where the kernel
// refuses what it says it offers; NOT_FOUND for a path of `request` that cannot be opened. The
// process is then confined in part, and must end.
std::string enter_sandbox(const SandboxRequest& request,
                          const SandboxAbilities& abilities = sandbox_abilities());

}  // namespace quench
