// What transformers computes with two small random Mamba models: tests/data/mamba_reference.py.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/plugins/models/model_driver.hpp"
#include "tests/support/memory_source.hpp"

namespace quench::test {

struct MambaReference {
  // "plain" or "variant".
  explicit MambaReference(const std::string& name);

  // The first ids of the rows, `length` of each.
  Tokens first(int64_t length) const;

  nlohmann::json notes;  // of this model
  std::string config;
  MemorySource weights;
  MemorySource results;
  Tokens tokens{};
};

}  // namespace quench::test
