// A plugin tried in a process of its own, as a run would have it.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "core/plugin/catalog/description.hpp"
#include "core/plugin/worker/served_plugins.hpp"
#include "promises/promise.hpp"

namespace quench::promises {

struct ServedOptions {
  WorkerOptions worker;
  std::filesystem::path sample = {};  // that plugins of some kinds are tried on, or ""
};

using OnVerdict = std::function<void(const Promise& promise, const Verdict& verdict)>;

// Tries the promises of the plugin's kind one after the other, each with `on_verdict`. Returns
// whether none is broken. Throws Error(CANCELLED) where the program is asked to stop,
// FAILED_PRECONDITION where the library of promises (promises/library.hpp) is not there.
bool try_promises(const PluginDescription& description, const ServedOptions& options,
                  const OnVerdict& on_verdict);

}  // namespace quench::promises
