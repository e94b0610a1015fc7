// Stores what a quantizer put into the sink in a format.
#pragma once

#include "core/checkpoint/host_tensor.hpp"
#include "core/pass/quantize_sink.hpp"
#include "core/plugin/handles/format_writer.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

// Stores the codes, or indices and table, of one linear and fills `dequantized` with the weight
// that reading them gives, unless an op replaces the linear. Does nothing if the linear stays in
// float. Throws Error: UNSUPPORTED naming the linear for results without codes, for weights that
// differ from what their codes express, and for what the format cannot hold.
void store_layer(FormatWriter& writer, const quench_linear_info& linear, const QuantizeSink& sink,
                 HostTensor& dequantized);

}  // namespace quench
