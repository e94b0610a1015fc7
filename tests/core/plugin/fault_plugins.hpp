// Folders of plugins, made of the libraries in faults/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

// The quench executable of this build.
std::filesystem::path quench_executable();

// A library of faults/: "good.so", "deps_a/libfault_helper.so".
std::filesystem::path fault_library(const std::string& name);

// A plugin folder and a cache folder of their own.
class PluginFolder {
 public:
  // Copies faults/<id>.so into the folder, under `name` when given.
  std::filesystem::path add(const std::string& id, const std::string& name = "");
  // Copies a helper library of variant "a" or "b" to deps/, where the plugins look for it.
  void add_helper(const std::string& variant, const std::string& library = "libfault_helper.so");

  std::filesystem::path path() const { return folder_ / "plugins"; }
  std::filesystem::path cache() const { return folder_ / "cache"; }
  Catalog catalog(double seconds = 20) const;
  // The reason why the only library was rejected; fails the test when it was not.
  std::string reason(double seconds = 20) const;

 private:
  TemporaryDir folder_;
};

}  // namespace quench::test
