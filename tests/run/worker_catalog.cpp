#include "tests/run/worker_catalog.hpp"

#include "tests/run/built_catalog.hpp"

namespace quench::test {

Catalog& worker_catalog() {
  static Catalog catalog([] {
    CatalogOptions options = built_catalog().options();
    options.load_in_worker = [](const PluginDescription& item) -> const quench_item& {
      return built_catalog().load(item);
    };
    return options;
  }());
  return catalog;
}

}  // namespace quench::test
