// The promises of each kind.
#pragma once

#include <span>

#include "promises/promise.hpp"

namespace quench::promises {

std::span<const Promise> averaging_promises();
std::span<const Promise> corpus_promises();
std::span<const Promise> format_promises();
std::span<const Promise> metric_promises();
std::span<const Promise> model_promises();
std::span<const Promise> optimizer_promises();
std::span<const Promise> quantizer_promises();
std::span<const Promise> tokenizer_promises();
std::span<const Promise> transform_promises();

}  // namespace quench::promises
