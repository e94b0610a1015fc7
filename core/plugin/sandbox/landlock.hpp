// Landlock: the kernel's rules on files, sockets and signals that a process makes for itself.
#pragma once

#include "core/plugin/sandbox/sandbox.hpp"

namespace quench {

// The ABI from which on abstract sockets and signals can be kept to the process itself.
constexpr int kLandlockWithScopes = 6;

// The version that the kernel offers; 0 where it has none, or it is switched off.
int landlock_abi();

// Lets this thread read what system_paths and `request` name, write beneath request.writable, and
// touch no other file, socket or process, as far as `abi` goes. Throws as enter_sandbox.
void restrict_files(const SandboxRequest& request, int abi);

}  // namespace quench
