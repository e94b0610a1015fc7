#include "core/pass/pass_memory.hpp"

#include <algorithm>
#include <vector>

#include "core/base/io/tensor_memory.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/inputs/weights/device_tensor.hpp"
#include "core/pass/activation_stream.hpp"

namespace quench {

namespace {

struct Shapes {
  ModelHandle& model;
  quench_dtype weight_dtype;  // dtype of a weight as quantizers get it
  bool on_gpu;                // whether the model is
  uint64_t element() const { return model.info().dtype.bits / 8u; }
  uint64_t weight_element() const { return weight_dtype.bits / 8u; }
};

uint64_t elements(const quench_linear_info& linear) {
  return static_cast<uint64_t>(linear.out_features * linear.in_features);
}

template <typename Visit>
void for_each_group(ModelHandle& model, Visit visit) {
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      visit(block.groups[g]);
    }
  }
}

template <typename Visit>
void for_each_linear(ModelHandle& model, Visit visit) {
  for_each_group(model, [&](const quench_group_info& group) {
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      visit(group.linears[l]);
    }
  });
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

quench_group_memory said_of(const Shapes& shapes, const QuantizerHandle& quantizer,
                            const quench_group_info& group) {
  const bool gets_rows_there = shapes.on_gpu && !quantizer.is_in_worker();
  return quantizer.memory(
      {sizeof(quench_group_memory_args), gets_rows_there ? QUENCH_GROUP_ON_DEVICE : 0u, &group,
       group.linears[0].in_features, shapes.model.info().dtype, shapes.weight_dtype});
}

// Bytes of one group's state.
uint64_t state_bytes(const Shapes& shapes, const QuantizerHandle& quantizer,
                     const quench_group_info& group) {
  const bool observes = (quantizer.needs() & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0;
  return observes ? said_of(shapes, quantizer, group).observing : 0;
}

// Bytes of the states that exist at once: those of one stage, or of a whole block. `bytes` says
// those of a group.
template <typename Bytes>
uint64_t widest_observing(const Shapes& shapes, const QuantizerHandle& quantizer, Bytes bytes) {
  const bool whole_block = (quantizer.needs() & QUENCH_NEEDS_BLOCK_ROWS) != 0;
  uint64_t widest = 0;
  for (uint32_t b = 0; b < shapes.model.info().blocks; ++b) {
    const quench_block_info& block = shapes.model.block(b);
    std::vector<uint64_t> by_stage(block.stage_count);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      by_stage[whole_block ? 0 : block.groups[g].stage] += bytes(block.groups[g]);
    }
    widest = std::max(widest, *std::max_element(by_stage.begin(), by_stage.end()));
  }
  return widest;
}

// States of the quantizer, and of the layer-error evaluator if one is used.
void predict_observing(const Shapes& shapes, const QuantizerHandle& quantizer,
                       const QuantizerHandle* judge, PassMemory& memory) {
  const bool judged = judge != nullptr && !quantizer.has_gram();
  const auto own = [&](const quench_group_info& group) {
    return state_bytes(shapes, quantizer, group);
  };
  const auto judging = [&](const quench_group_info& group) {
    return judged ? said_of(shapes, *judge, group).observing : 0;
  };
  if (memory.computes_on_gpu) {
    memory.observing = widest_observing(shapes, quantizer, [&](const quench_group_info& group) {
      return own(group) + judging(group);
    });
  } else {
    memory.observing = widest_observing(shapes, quantizer, judging);
    memory.observing_apart = widest_observing(shapes, quantizer, own);
  }
}

// The largest weight of a group, original and dequantized, and the quantizer's own buffers.
uint64_t widest_quantizing(const Shapes& shapes, const QuantizerHandle& quantizer,
                           uint64_t settings) {
  uint64_t widest = 0;
  for_each_group(shapes.model, [&](const quench_group_info& group) {
    const quench_group_memory said = said_of(shapes, quantizer, group);
    uint64_t largest = 0;
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      largest = std::max(largest, elements(group.linears[l]));
    }
    widest = std::max(widest, 2 * largest * shapes.weight_element() + said.shared +
                                  settings * said.each + said.linear);
  });
  return widest;
}

// Queries, keys, values, scores of a tile and the widest linear's outputs of one micro-batch.
uint64_t stage_bytes(const Shapes& shapes, uint64_t longest_row) {
  uint64_t widest = 0;
  for_each_linear(shapes.model, [&](const quench_linear_info& linear) {
    widest = std::max(widest, static_cast<uint64_t>(linear.out_features));
  });
  const uint64_t tokens =
      std::max(longest_row, static_cast<uint64_t>(micro_batch_tokens(shapes.model, shapes.on_gpu)));
  return tokens * 3 * widest * shapes.element();
}

}  // namespace

PassWork work_of(const ModelHandle& model, const QuantizeOptions& options, uint64_t settings) {
  PassWork work;
  work.on_gpu = model.info().device.type != QUENCH_DEVICE_CPU;
  work.settings = settings;
  for (const ScoreRequest& request : options.fused) {
    work.scored.push_back(request.ids.size());
  }
  if (options.calibration != nullptr) {
    const std::vector<uint64_t>& starts = options.calibration->starts;
    work.tokens = starts.back();
    for (size_t r = 0; r + 1 < starts.size(); ++r) {
      work.longest = std::max(work.longest, starts[r + 1] - starts[r]);
    }
    work.judge = options.judge;
  }
  return work;
}

bool keeps_weights_on_device(ModelHandle& model) {
  const uint64_t free = free_device_bytes(model);
  uint64_t weights = 0;
  for_each_linear(model, [&](const quench_linear_info& linear) { weights += elements(linear); });
  return free != UINT64_MAX && weights * (model.info().dtype.bits / 8u) < free / 4;
}

PassMemory predict_pass_memory(ModelHandle& model, const QuantizerHandle& quantizer,
                               const PassWork& work) {
  const quench_model_info info = model.info();
  const Shapes shapes{model, same_dtype(info.dtype, kFloat64) ? kFloat64 : kFloat32, work.on_gpu};
  const uint32_t needs = quantizer.needs();
  const uint64_t residual = static_cast<uint64_t>(info.width) * shapes.element();  // per token
  uint64_t weights = extra_elements(model, needs);
  for_each_linear(model, [&](const quench_linear_info& linear) { weights += elements(linear); });

  PassMemory memory;
  memory.computes_on_gpu = !work.on_gpu || !quantizer.is_in_worker();
  memory.stays_on_gpu = work.on_gpu && quantizer.takes_device_weights();
  const bool is_there =
      info.device.type != QUENCH_DEVICE_CPU;  // else that GPU is taken to be large
  memory.kept_on_gpu = memory.stays_on_gpu && (!is_there || keeps_weights_on_device(model));
  memory.kept = weights * (memory.stays_on_gpu ? shapes.element() : shapes.weight_element());
  memory.made = (needs & QUENCH_NEEDS_FLOAT_ROWS) != 0
                    ? work.settings * weights * shapes.weight_element()
                    : 0;
  memory.quantizing = widest_quantizing(shapes, quantizer, work.settings);
  const uint64_t widest = widest_carry(model);
  for (const uint64_t tokens : work.scored) {
    memory.scoring += work.settings * tokens * residual;
    memory.scoring_rests = memory.scoring_rests || has_to_rest(model, tokens);
  }
  const auto batch = static_cast<uint64_t>(micro_batch_tokens(model, work.on_gpu));
  memory.turn = batch * widest;
  if (work.tokens > 0) {
    const uint64_t streams = (needs & QUENCH_NEEDS_FLOAT_STREAM) != 0 ? 2 : 1;
    memory.activations = work.tokens * widest * streams;
    memory.turn = std::max(work.longest, batch) * widest * streams;
    memory.rests = has_to_rest(model, work.tokens);
    if ((needs & QUENCH_NEEDS_BLOCK_ROWS) != 0) {
      memory.activations += work.tokens * residual;  // the block's input, to run it again
    }
    memory.stage = stage_bytes(shapes, work.longest);
    predict_observing(shapes, quantizer, work.judge, memory);
  }
  memory.slack =
      std::min<uint64_t>(kTensorMemorySlack, memory.stage + memory.observing +
                                                 memory.observing_apart + memory.quantizing);
  return memory;
}

}  // namespace quench
