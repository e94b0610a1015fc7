// What any family's derivatives are asked, on the family linked into the test.
#pragma once

#include <string>
#include <vector>

#include "tests/plugins/models/model_driver.hpp"

namespace quench::test {

// quench.model.grad/1: the loss is that of the stages to 1e-12 (float64) and 1e-6 (float32); each
// parameter's gradient that of central differences of the stages' loss; the weight is a factor;
// what is there is added to. So are the gradients of each block's linears by themselves, by
// block_gradient in float64. The parameters named in `flat` only choose, as a router's bias does:
// their gradient and their differences are exactly 0.
void differentiates(const std::string& config, const MemorySource& source, const Tokens& tokens,
                    const std::vector<std::string>& flat = {});
// quench.model.hvp/1 in float64: the Hessian by double backward is that of central differences of
// the gradient, symmetric, and equal forwards over reverse; Gauss-Newton is the form of differences
// of the stages' logits; loss and gradient are those of quench.model.grad/1.
void has_curvature(const std::string& config, const MemorySource& source, const Tokens& tokens);

// Both of a float64 model as it is: gradients, those of blocks, and curvature.
void derivatives_are_those_of_differences(ModelDriver& driver, const Tokens& tokens);

// Two models of equal weights and dtype, float64 or float32, have the same gradient to the bit.
void same_gradient(ModelDriver& a, ModelDriver& b, const Tokens& tokens);

// The forward, the gradient, that of the first block and a product with the Hessian have the same
// bits for 1, 2 and 3 threads. Of rows as long as in use: what is cut into as many parts as there
// are threads shows only there.
void same_for_threads(const std::string& config, const MemorySource& source, const Tokens& tokens);

// A model without a checkpoint: matrices have the config's initializer_range, norms are 1, biases
// 0; two draws are equal.
void initializes(const std::string& config);

}  // namespace quench::test
