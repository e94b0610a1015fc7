#include "core/plugin/catalog/check.hpp"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/probe.hpp"
#include "core/plugin/catalog/worker_file.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "quench/abi/module.h"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Findings by severity: a fault fails the check, a remark does not.
class Findings {
 public:
  void good(const std::string& text) { text_ += "ok      " + text + "\n"; }
  void remark(const std::string& text) { text_ += "remark  " + text + "\n"; }
  void fault(const std::string& text) {
    text_ += "failed  " + text + "\n";
    passed_ = false;
  }
  PluginCheck result(std::vector<PluginDescription> items = {}) const {
    return {text_, passed_, std::move(items)};
  }

 private:
  std::string text_;
  bool passed_ = true;
};

void check_symbols(const fs::path& library, Findings& findings) {
  std::vector<std::string> others;
  std::vector<std::string> unique;
  bool entry = false;
  for (const ElfSymbol& symbol : exported_symbols(library)) {
    if (symbol.name == QUENCH_ENTRY_SYMBOL) {
      entry = true;
    } else {
      (symbol.unique ? unique : others).push_back(symbol.name);
    }
  }
  static constexpr size_t kShown = 3;
  const auto some = [](const std::vector<std::string>& names) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown));
    return printable(fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                                 names.size() > kShown ? ", ..." : ""),
                     400);
  };
  if (!entry) {
    findings.fault("does not export " QUENCH_ENTRY_SYMBOL);
  }
  if (!others.empty()) {
    findings.fault(fmt::format("exports {} symbol(s) beside " QUENCH_ENTRY_SYMBOL
                               ": {}; link with the SDK's version script",
                               others.size(), some(others)));
  }
  if (!unique.empty()) {
    findings.fault(
        fmt::format("exports {} GNU_UNIQUE symbol(s), which all plugins share: {}; "
                    "compile with -fno-gnu-unique",
                    unique.size(), some(unique)));
  }
  if (entry && others.empty() && unique.empty()) {
    findings.good("exports " QUENCH_ENTRY_SYMBOL " and nothing else");
  }
}

void check_linking(const ElfFile& elf, Findings& findings) {
  if (elf.text_relocations) {
    findings.fault("has text relocations (TEXTREL); compile with -fPIC");
  }
  if (!elf.bind_now) {
    findings.remark("is bound lazily; link with -Wl,-z,now");
  }
  for (const std::string& folder : elf.rpath) {
    findings.remark(fmt::format("has RPATH {}; use RUNPATH", printable(folder)));
  }
  for (const std::string& folder : elf.runpath) {
    if (!folder.starts_with("$ORIGIN") && !folder.starts_with("${ORIGIN}")) {
      findings.remark(
          fmt::format("RUNPATH {} is not relative to $ORIGIN: it holds on this machine "
                      "only",
                      printable(folder)));
    }
  }
}

std::vector<PluginDescription> check_description(const Catalog& catalog, const fs::path& library,
                                                 Findings& findings) {
  ProbeResult result = probe_libraries({library}, catalog.options()).front();
  if (!result.rejected.empty()) {
    findings.fault(result.rejected);
    return {};
  }
  findings.good(fmt::format("module {} {}, plugin ABI {}.{}, {}", result.items[0].module_id,
                            result.items[0].module_version, QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR,
                            result.items[0].build));
  for (const PluginDescription& item : result.items) {
    findings.good(fmt::format("{} {}, {} parameter(s)", plugin_label(item), item.version,
                              item.parameters.size()));
    if (item.reference.empty()) {
      findings.remark(plugin_label(item) + " names no reference");
    }
    if (item.example.empty()) {
      findings.remark(plugin_label(item) + " has no example");
    }
  }
  const Placed placed = catalog.placed(result.items[0]);  // the process is the library's
  if (placed.placement == Placement::kOwn) {
    findings.good("runs in a process of its own: " + placed.reason);
  }
  if (is_python_file(library)) {
    findings.remark("was read, not run, to learn what it is");
  }
  const std::string sha256 = sha256_of(File(library));
  for (PluginDescription& item : result.items) {
    item.sha256 = sha256;
  }
  return std::move(result.items);
}

}  // namespace

PluginCheck plugin_check(const Catalog& catalog, const fs::path& library) {
  Findings findings;
  std::error_code error;
  const fs::path path = fs::canonical(library, error);
  if (error) {
    findings.fault(fmt::format("{}: {}", library.string(), error.message()));
    return findings.result();
  }
  try {
    if (!is_python_file(path) && !is_worker_file(path)) {
      const ElfFile elf = read_elf(path);
      check_symbols(path, findings);
      check_linking(elf, findings);
    }
  } catch (const Error& failure) {
    findings.fault(failure.what());
    return findings.result();
  }
  std::vector<PluginDescription> items = check_description(catalog, path, findings);
  return findings.result(std::move(items));
}

}  // namespace quench
