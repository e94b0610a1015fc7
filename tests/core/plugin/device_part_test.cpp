// The part of a library that computes on a GPU, with libraries that stand for libtorch's two.
#include "core/plugin/library/device_part.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/library/links.hpp"
#include "tests/core/plugin/fault_plugins.hpp"

namespace fs = std::filesystem;
using Catch::Contains;
using quench::Catalog;
using quench::test::PluginFolder;

namespace {

constexpr quench_device kGpu = {QUENCH_DEVICE_CUDA, 1};

struct TorchFolder : PluginFolder {
  explicit TorchFolder(const std::vector<std::string>& libraries) {
    add("needs_torch");
    for (const std::string& library : libraries) {
      add_helper(library == "libfault_helper.so" ? "a" : "torch", library);
    }
  }
};

void load_from(const PluginFolder& folder, quench_device device) {
  Catalog catalog = folder.catalog();
  catalog.compute_on(device, QUENCH_FAKE_DRIVER);
  catalog.load(catalog.require("corpus", "needs_torch"));
}

// What the library of this process knew of parts at its first call.
int known_parts(const PluginFolder& folder) {
  void* library = dlopen((folder.path() / "deps/libtorch_cpu.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  auto* parts = reinterpret_cast<int (*)()>(dlsym(library, "fault_parts"));
  REQUIRE(parts != nullptr);
  return parts();
}

bool is_loaded(const std::string& soname) {
  const std::vector<quench::LinkedLibrary> loaded = quench::loaded_libraries();
  return std::any_of(loaded.begin(), loaded.end(),
                     [&](const auto& library) { return library.soname == soname; });
}

const std::vector<std::string> kAll = {"libtorch_cpu.so", "libtorch_cuda.so", "libfault_helper.so"};

}  // namespace

TEST_CASE("device part: for a GPU it is there before a plugin first calls its library",
          "[core][plugin]") {
  const TorchFolder folder(kAll);
  load_from(folder, kGpu);
  CHECK(known_parts(folder) == 1);
  CHECK(std::getenv("CUBLAS_WORKSPACE_CONFIG") == std::string(":4096:8"));
}

TEST_CASE("device part: for a processor nothing of it is loaded", "[core][plugin]") {
  const TorchFolder folder(kAll);
  load_from(folder, {QUENCH_DEVICE_CPU, 0});
  CHECK(known_parts(folder) == 0);
  CHECK(!is_loaded("libtorch_cuda.so"));
}

TEST_CASE("device part: what it lacks is said in one line that begins with the device",
          "[core][plugin]") {
  const TorchFolder folder({"libtorch_cpu.so", "libtorch_cuda.so"});
  CHECK_THROWS_WITH(load_from(folder, kGpu),
                    "device cuda:1: " + fs::canonical(folder.path()).string() +
                        "/deps/libtorch_cuda.so cannot be loaded: libfault_helper.so is not "
                        "installed");
  CHECK(quench::missing_libraries(folder.path() / "deps/libtorch_cuda.so") ==
        std::vector<std::string>{"libfault_helper.so"});
  CHECK(!is_loaded("libtorch_cpu.so"));  // nothing was begun
}

TEST_CASE("device part: a library without one is refused for a GPU", "[core][plugin]") {
  const TorchFolder folder({"libtorch_cpu.so"});
  CHECK_THROWS_WITH(
      load_from(folder, kGpu),
      Contains("deps/libtorch_cuda.so is not there: this is a build for processors only"));
}

TEST_CASE("device part: a plugin whose libraries have none needs none", "[core][plugin]") {
  CHECK(!quench::device_part({{"libm.so.6", "/lib/libm.so.6", ""}}));
  CHECK(quench::device_part({{"libtorch_cpu.so", "/x/libtorch_cpu.so", ""}}) ==
        fs::path("/x/libtorch_cuda.so"));
  PluginFolder folder;
  folder.add("good");
  Catalog catalog = folder.catalog();
  catalog.compute_on(kGpu, QUENCH_FAKE_DRIVER);
  CHECK_NOTHROW(catalog.load(catalog.require("corpus", "good")));
}

TEST_CASE("device libraries: the part, what it brings and our kernels name what computes on a GPU",
          "[core][plugin]") {
  const TorchFolder folder(kAll);
  const fs::path kernels = folder.path().parent_path() / "cuda/kernels.so";
  fs::create_directories(kernels.parent_path());
  fs::copy_file(quench::test::fault_library("good.so"), kernels);
  const Catalog catalog = folder.catalog();
  const quench::PluginDescription& plugin = catalog.require("corpus", "needs_torch");
  const nlohmann::json found = quench::computing_libraries(quench::device_libraries(plugin));
  CHECK(found.size() == 3);
  CHECK(found.contains("libtorch_cuda.so"));
  CHECK(found.contains("libfault_helper.so"));
  CHECK(found.at("kernels.so").get<std::string>().size() == 40);
  CHECK(quench::computing_libraries(plugin.links).size() == 1);  // on a processor none of them
}
