// A weight in a number format: codes of elements, one scale per row and group of columns.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "quantizers/grid/coded.hpp"
#include "quantizers/number_format/format_numbers.hpp"
#include "quench/kit/quantizer.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

// The groups of a row. Throws INVALID_ARGUMENT with the linear's name if they do not divide it:
// files of these formats hold whole blocks.
Groups format_groups(const NumberFormat& format, int64_t columns, int64_t group_size,
                     const char* name);

// The scale of the whole weight, from its largest magnitude; 1 where the format has none.
double tensor_scale_of(const NumberFormat& format, const at::Tensor& weight);

// Rounds every value to the nearest of its group's format: fills codes and scales of `coded`, whose
// zeros stay as they are. `weight` [rows, columns] is in host memory, float32 or float64.
void round_to_format(const at::Tensor& weight, const NumberFormat& format, ScaleRule rule,
                     double tensor_scale, Groups groups, const Coded& coded);

// The same with the kernel, if finds_scales_by_kernel(), where the weight is: on a GPU as
// kernels.so has it, in host memory as loops. Zeros are 0.
CodedThere round_to_format_there(const at::Tensor& weight, const NumberFormat& format,
                                 ScaleRule rule, double tensor_scale, Groups groups);

// Writes the dequantized weight, scale · element computed in float64 and rounded once, and, if the
// host wants them, "indices", "table" and "scales" of a weight that is looked up. Where a scale is
// a byte, "scales" has the bytes of E8M0; of two levels it has their product, and "block_scales"
// the bytes in E4M3 and "tensor_scale" the float32. Records bits, bits_per_weight and block. Throws
// NUMERICAL if a scale or a value overflows.
void put_formatted(const NumberFormat& format, double tensor_scale, Groups groups,
                   const Coded& coded, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink);
// The same of codes where the weight is, which a result that stays there does not leave.
void put_formatted(const NumberFormat& format, double tensor_scale, Groups groups,
                   const CodedThere& coded, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink);

// Rounds every value to nearest and puts the result; with the kernel for a weight on a device, if
// there is one.
void put_rounded(const at::Tensor& weight, const NumberFormat& format, ScaleRule rule,
                 Groups groups, const kit::LinearToQuantize& linear, kit::QuantizeSink& sink);

}  // namespace quench::quantizers
