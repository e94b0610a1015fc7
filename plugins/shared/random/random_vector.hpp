// Random vectors from the host's random service.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace quench::random {

// Standard normal (Box and Muller 1958): elements 2i and 2i+1 use numbers 2i and 2i+1.
template <typename T>
void draw_normal(const std::string& stream, std::span<T> to);

// -1 or 1 (Rademacher): element i is the top bit of number i.
template <typename T>
void draw_signs(const std::string& stream, std::span<T> to);

}  // namespace quench::random
