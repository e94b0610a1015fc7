// What the tests of each family of Llama's layout ask of it, on the family linked into the test.
#pragma once

#include <string>
#include <vector>

#include "tests/plugins/models/tiny_llama.hpp"

namespace quench::test {

// Logits of a small batch in float32.
std::vector<double> logits_of(const TinyLlama& model, const nlohmann::json& config,
                              const MemorySource& source);

// A trained model of the fixtures: logits, losses and block outputs within 2e-5 in float32.
void matches_reference(const std::string& name);

// The same in 16 bits: no further from the float32 reference than transformers' own kernels are,
// but for a quarter (tests/data/dtype_reference.json).
void matches_reference_in_16_bits(const std::string& name);

// The drawn model in float64 against its plain loops, in the narrower dtypes to their precision,
// and the same bits when stages write over what they read.
void matches_plain_loops(TinyLlama model);

// The drawn model's derivatives (derivative_checks.hpp), of plain rows and of packed documents.
void differentiates(TinyLlama model);

// An op on keys and values (cache_checks.hpp) of the drawn model.
void lets_an_op_change_keys_and_values(TinyLlama model);

// Forward, gradient and product with the Hessian (derivative_checks.hpp) of the model, made so wide
// and with so many tokens that there is work for every thread.
void same_for_threads(TinyLlama model);

// The same with so small an embedding that the norms' epsilon, the model's, matters: another one
// moves the logits by more than the test allows.
void reads_its_epsilon(TinyLlama model);

// Each version's config in tests/data/saved_configs.json, of this model, gives its logits.
void reads_saved_configs(TinyLlama model);

// The groups of a block have these many sites, and a scale that they absorb leaves the logits as
// they were to 1e-10.
void absorbs_scales(TinyLlama model, const std::vector<uint32_t>& sites);

// The tied embedding is one parameter, which both names change; it may be stored under either name,
// and under both if equal.
void ties_its_head(TinyLlama model);

// Opening with config[key] = value fails with a message that contains `message`.
void refuses(TinyLlama model, const std::string& key, const nlohmann::json& value,
             const std::string& message);
// The same without the key.
void requires_key(TinyLlama model, const std::string& key);

}  // namespace quench::test
