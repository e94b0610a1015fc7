// What tests on the pretended device start from: a model's config, and the catalog of its plugins.
// The test's target says by PRETENDED_PLUGINS where they lie.
#pragma once

#include <filesystem>

#include "core/plugin/catalog/catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/pretended_device/tiny_config.hpp"

namespace quench::test {

inline CatalogOptions options_of(const std::filesystem::path& plugins) {
  CatalogOptions out;
  out.search_path = {plugins};
  out.self = binary_dir() / "bin" / "quench";
  return out;
}

inline Catalog& pretended_catalog() {
  static Catalog catalog(options_of(PRETENDED_PLUGINS));
  return catalog;
}

}  // namespace quench::test
