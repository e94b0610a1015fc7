#include "tests/layering/includes.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/layering/source_tree.hpp"

using quench::test::Include;
using quench::test::objection;

TEST_CASE("layering: every include of the project is allowed", "[layering]") {
  size_t checked = 0;
  std::string objections;
  for (const char* folder : {"sdk", "promises", "core", "train", "run", "cli", "plugins"}) {
    for (const std::string& file :
         quench::test::files_below(folder, {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"})) {
      for (const Include& include : quench::test::includes_of(quench::test::source(file))) {
        ++checked;
        const std::string reason = objection(file, include);
        if (!reason.empty()) {
          objections += fmt::format("{}:{}: {}: {}\n", file, include.line, include.target, reason);
        }
      }
    }
  }
  CHECK(checked > 100);
  CHECK(objections == "");
}

TEST_CASE("layering: the include table refuses what it should", "[layering]") {
  struct Case {
    const char* file;
    const char* target;
    bool quoted;
    bool allowed;
  };
  const auto [file, target, quoted, allowed] = GENERATE(values<Case>({
      {"sdk/include/quench/abi/a.h", "stdint.h", false, true},
      {"sdk/include/quench/abi/a.h", "string", false, false},
      {"sdk/include/quench/abi/a.h", "quench/kit/host.hpp", true, false},
      {"sdk/include/quench/kit/a.hpp", "vector", false, true},
      {"sdk/include/quench/kit/a.hpp", "ATen/core/Tensor.h", false, false},
      {"sdk/include/quench/kit/torch.hpp", "ATen/core/Tensor.h", false, true},
      {"sdk/include/quench/kit/a.hpp", "fmt/format.h", false, false},
      {"run/a.cpp", "core/store/b.hpp", true, true},
      {"core/store/a.cpp", "run/b.hpp", true, false},
      {"run/a.cpp", "cli/b.hpp", true, false},
      {"run/a.cpp", "train/b.hpp", true, true},
      {"run/a.cpp", "run/grid/b.hpp", true, true},
      {"run/grid/a.cpp", "run/b.hpp", true, false},
      {"run/grid/a.cpp", "run/manifest/b.hpp", true, true},
      {"run/manifest/a.cpp", "run/grid/b.hpp", true, false},
      {"core/pass/a.cpp", "core/pass/b.hpp", true, true},
      {"core/pass/a.cpp", "core/inputs/weights/b.hpp", true, true},
      {"core/pass/a.cpp", "core/base/json/b.hpp", true, true},
      {"core/inputs/weights/a.cpp", "core/pass/b.hpp", true, false},
      {"core/unplaced/a.cpp", "core/store/b.hpp", true, false},
      {"train/a.cpp", "core/plugin/b.hpp", true, true},
      {"train/a.cpp", "run/b.hpp", true, false},
      {"core/store/a.cpp", "train/b.hpp", true, false},
      {"cli/main.cpp", "cli/b.hpp", true, true},
      {"cli/main.cpp", "promises/b.hpp", true, true},
      {"run/a.cpp", "promises/b.hpp", true, false},
      {"promises/a.cpp", "quench/kit/host.hpp", true, true},
      {"promises/a.cpp", "core/error.hpp", true, false},
      {"promises/served_candidate.cpp", "core/error.hpp", true, true},
      {"run/cluster/a.cpp", "core/base/process/b.hpp", true, true},
      {"core/store/a.cpp", "core/pass/b.hpp", true, false},
      {"core/base/process/a.cpp", "core/error.hpp", true, false},
      {"core/store/a.cpp", "quench/kit/host.hpp", true, false},
      {"core/store/a.cpp", "torch/csrc/api/include/torch/all.h", false, false},
      {"core/store/a.cpp", "cuda_runtime.h", false, false},
      {"core/store/a.cpp", "plugins/models/b.hpp", true, false},
      {"plugins/models/a/a.cpp", "quench/kit/model.hpp", true, true},
      {"plugins/models/a/a.cpp", "ATen/core/Tensor.h", false, true},
      {"plugins/models/a/a.cpp", "core/error.hpp", true, false},
      {"plugins/models/a/a.cpp", "shared/matrix/product.hpp", true, true},
      {"plugins/models/a/a.cpp", "quantizers/gram/gram.hpp", true, false},
      {"plugins/shared/a/a.cpp", "quantizers/gram/gram.hpp", true, false},
      {"plugins/models/a/a.cpp", "yaml-cpp/yaml.h", false, false},
  }));
  CAPTURE(file, target);
  CHECK(objection(file, {1, target, quoted}).empty() == allowed);
}

TEST_CASE("layering: include lines are found in both forms", "[layering]") {
  const auto found =
      quench::test::includes_of("#include <a>\n  # include \"b/c.h\" // why\n//#include <d>\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].target == "a");
  CHECK_FALSE(found[0].quoted);
  CHECK(found[1].target == "b/c.h");
  CHECK(found[1].quoted);
  CHECK(found[1].line == 2);
}
