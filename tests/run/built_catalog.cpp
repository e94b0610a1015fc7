#include "tests/run/built_catalog.hpp"
#include "run/manifest/single_checkpoint.hpp"

#include "core/checkpoint/dtype.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/template_checkpoint.hpp"

namespace quench::test {

Catalog& built_catalog() {
  static Catalog catalog([] {
    CatalogOptions options;
    options.search_path = {binary_dir() / "template", binary_dir() / "lib" / "quench"};
    options.cache_dir = binary_dir() / "tests" / "core_run_home";
    options.self = binary_dir() / "bin" / "quench";
    return options;
  }());
  return catalog;
}

OpenCheckpoint open_template_checkpoint(const std::filesystem::path& folder) {
  write_template_checkpoint(folder);
  return open_checkpoint(built_catalog(), single_checkpoint(folder.string()), {}, kFloat32,
                         {QUENCH_DEVICE_CPU, 0});
}

}  // namespace quench::test
