#include "core/pass/pass_memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include "core/io/tensor_memory.hpp"
#include "core/pass/activation_stream.hpp"

namespace quench {

namespace {

// What the shared implementation of Gram matrices holds beside the matrix: rows gathered before
// they are multiplied, and columns of a product.
constexpr uint64_t kPanelRows = 1024;
constexpr uint64_t kProductColumns = 256;

struct Shapes {
  ModelHandle& model;
  uint64_t element;         // bytes of an element of the model
  uint64_t weight_element;  // of a weight as quantizers get it
};

uint64_t elements(const quench_linear_info& linear) {
  return static_cast<uint64_t>(linear.out_features * linear.in_features);
}

template <typename Visit>
void for_each_linear(ModelHandle& model, Visit visit) {
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        visit(block.groups[g].linears[l]);
      }
    }
  }
}

// Elements of head and embedding that `needs` asks to quantize.
uint64_t extra_elements(ModelHandle& model, uint32_t needs) {
  uint64_t total = 0;
  for (const quench_parameter_info& parameter : model.parameters()) {
    const bool head = parameter.role == QUENCH_ROLE_HEAD && (needs & QUENCH_QUANTIZES_HEAD) != 0;
    const bool embedding =
        parameter.role == QUENCH_ROLE_EMBEDDING && (needs & QUENCH_QUANTIZES_EMBEDDING) != 0;
    if ((head || embedding) && parameter.dimensions == 2) {
      total += static_cast<uint64_t>(parameter.shape[0] * parameter.shape[1]);
    }
  }
  return total;
}

// Bytes a token carries out of a stage, at most.
uint64_t widest_carry(const Shapes& shapes) {
  uint64_t widest = 0;
  for (uint32_t b = 0; b < shapes.model.info().blocks; ++b) {
    for (uint32_t s = 0; s <= shapes.model.block(b).stage_count; ++s) {
      uint64_t bytes = 0;
      for (const quench_carry_info& tensor : shapes.model.carry(b, s)) {
        bytes +=
            static_cast<uint64_t>(tensor.width * tensor.rows_per_token) * tensor.dtype.bits / 8;
      }
      widest = std::max(widest, bytes);
    }
  }
  return widest;
}

uint64_t gram_bytes(uint64_t in, bool float_stream) {
  const uint64_t product = in <= 1024 ? 8 : 4;
  const uint64_t one = in * in * 8 + (kPanelRows + kProductColumns) * in * product;
  return float_stream ? 2 * one + kPanelRows * in * product : one;
}

// Gram matrices that exist at once: those of one stage, or of a whole block.
uint64_t widest_groups(const Shapes& shapes, bool whole_block, bool float_stream) {
  uint64_t widest = 0;
  for (uint32_t b = 0; b < shapes.model.info().blocks; ++b) {
    const quench_block_info& block = shapes.model.block(b);
    std::vector<uint64_t> by_stage(block.stage_count);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      const auto in = static_cast<uint64_t>(block.groups[g].linears[0].in_features);
      by_stage[whole_block ? 0 : block.groups[g].stage] += gram_bytes(in, float_stream);
    }
    widest = std::max(widest, *std::max_element(by_stage.begin(), by_stage.end()));
  }
  return widest;
}

// Factor, correction, and a linear's weight: as it came, dequantized, transposed in float32, codes
// twice.
uint64_t widest_solver(const Shapes& shapes, bool float_stream) {
  uint64_t widest = 0;
  for_each_linear(shapes.model, [&](const quench_linear_info& linear) {
    const auto in = static_cast<uint64_t>(linear.in_features);
    const uint64_t factor = in * in * 8 * (float_stream ? 3 : 1);
    widest = std::max(widest, factor + elements(linear) * (3 * shapes.weight_element + 2));
  });
  return widest;
}

// Queries, keys, values, scores of a tile and the widest linear's outputs of one micro-batch.
uint64_t stage_bytes(const Shapes& shapes, uint64_t longest_row) {
  uint64_t widest = 0;
  for_each_linear(shapes.model, [&](const quench_linear_info& linear) {
    widest = std::max(widest, static_cast<uint64_t>(linear.out_features));
  });
  const uint64_t tokens = std::max<uint64_t>(longest_row, kMicroBatchTokens);
  return tokens * 3 * widest * shapes.element;
}

// A field of /proc/self/status in bytes; 0 where there is none.
uint64_t status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) {
      return std::strtoull(line.c_str() + field.size() + 1, nullptr, 10) * 1024;
    }
  }
  return 0;
}

}  // namespace

PassMemory predict_pass_memory(ModelHandle& model, const QuantizerHandle& quantizer,
                               uint64_t settings, const QuantizeOptions& options) {
  const quench_model_info info = model.info();
  const uint64_t element = info.dtype.bits / 8u;
  const Shapes shapes{model, element, std::max<uint64_t>(element, 4)};
  const uint32_t needs = quantizer.needs();
  const bool float_stream = (needs & QUENCH_NEEDS_FLOAT_STREAM) != 0;
  const auto width = static_cast<uint64_t>(info.width);
  uint64_t weights = extra_elements(model, needs);
  for_each_linear(model, [&](const quench_linear_info& linear) { weights += elements(linear); });

  PassMemory memory;
  memory.kept = weights * shapes.weight_element;
  memory.made =
      (needs & QUENCH_NEEDS_FLOAT_ROWS) != 0 ? settings * weights * shapes.weight_element : 0;
  memory.solver = widest_solver(shapes, float_stream);
  for (const ScoreRequest& request : options.rides) {
    memory.rides += settings * request.ids.size() * width * element;
  }
  if (options.calibration != nullptr) {
    const std::vector<uint64_t>& starts = options.calibration->starts;
    uint64_t longest = 0;
    for (size_t r = 0; r + 1 < starts.size(); ++r) {
      longest = std::max(longest, starts[r + 1] - starts[r]);
    }
    const bool whole_block = (needs & QUENCH_NEEDS_BLOCK_ROWS) != 0;
    memory.activations = starts.back() * widest_carry(shapes) * (float_stream ? 2 : 1) +
                         (whole_block ? starts.back() * width * element : 0);
    memory.stage = stage_bytes(shapes, longest);
    memory.groups = widest_groups(shapes, whole_block, float_stream);
  }
  memory.slack =
      std::min<uint64_t>(kTensorMemorySlack, memory.stage + memory.groups + memory.solver);
  return memory;
}

uint64_t resident_memory_bytes() {
  return status_bytes("VmRSS");
}

uint64_t peak_memory_bytes() {
  return status_bytes("VmHWM");
}

void forget_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace quench
