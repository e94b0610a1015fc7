// The weight that takes a linear's place: what its codes stand for, divided by the channel scale.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "quantizers/grid/coded.hpp"

namespace quench::quantizers {

// Write to `to` [rows, columns], float32 or float64: scale * (code - zero) is rounded to that type,
// divided by its column's `scale` in float64, and rounded again. `scale` is empty where none
// applies. `name` is for errors: NUMERICAL if a grid overflowed, and on a device, where nothing
// else looks, if the weight is not finite.
void write_effective_weight(const Coded& coded, std::span<const double> scale, const at::Tensor& to,
                            const char* name);
void write_effective_weight(const CodedThere& coded, Groups groups, std::span<const double> scale,
                            const at::Tensor& to, const char* name);

// Divides by it in place and rounds again; NUMERICAL if the weight is not finite then.
void divide_by_scale(const at::Tensor& weight, std::span<const double> scale, const char* name);

}  // namespace quench::quantizers
