// A small random model whose numbers transformers computed: tests/data/families_reference.py.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/plugins/models/model_driver.hpp"

namespace quench::test {

struct SavedFamily {
  explicit SavedFamily(const std::string& name);

  // As this version of transformers wrote it.
  std::string config(const std::string& version) const {
    return notes.at("configs").at(version).dump();
  }
  std::string config() const { return config("4.57.6"); }
  // With this value at that key the config is refused, by a message that holds `message`.
  void refuses(const std::string& key, const nlohmann::json& value,
               const std::string& message) const;
  // The parameters that the reference has no gradient for: they change what is chosen alone.
  std::vector<std::string> without_gradient() const;

  nlohmann::json notes;  // configs, loss, gradient_norms
  MemorySource weights;
  MemorySource results;
  Tokens tokens{};
};

// Logits within 5e-6 in float64 and 2e-5 in float32, with the config of each version; the mean loss
// and, parameter by parameter, the norm of its gradient.
void matches_transformers(const std::string& name);

// Gradients and curvature (derivative_checks.hpp) of short rows, plain and in segments: of the
// saved ids from `first` on.
void differentiates_saved(const std::string& name, ptrdiff_t first = 0);

// An op on keys and values (cache_checks.hpp), of rows within every window.
void lets_an_op_change_keys_and_values_of_saved(const std::string& name);

// Block by block the gradient is that of the whole model, and there is curvature.
void differentiates_saved_by_block(const std::string& name);

// The number of the model's own parameters, all of whose names are those of its file.
void has_the_names_of(const std::string& name);

}  // namespace quench::test
