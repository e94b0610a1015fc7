#include "core/pass/quantization_pass.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/arithmetic/mean_bits.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/export_weights.hpp"
#include "core/pass/pass_memory.hpp"
#include "core/pass/process_memory.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

constexpr uint64_t kReportedPeak = uint64_t{2} << 30;  // bytes; smaller peaks are not reported

constexpr double kMostBits = 64;  // of a float64 weight as it is

double bits_per_weight(const QuantizationResult& result, const std::string& quantizer) {
  std::vector<LayerBits> layers;
  for (const LayerResult& layer : result.layers) {
    const auto found = layer.numbers.find("bits_per_weight");
    if (found == layer.numbers.end()) {
      fail(QUENCH_INTERNAL, "quantizer {}: {}: reported no bits_per_weight", quantizer, layer.name);
    }
    if (!(found->second >= 0 && found->second <= kMostBits)) {
      fail(QUENCH_INTERNAL, "quantizer {}: {}: bits_per_weight is {}, wanted 0..{}", quantizer,
           layer.name, found->second, kMostBits);
    }
    layers.push_back({found->second, static_cast<double>(layer.out_features * layer.in_features)});
  }
  return mean_bits(layers);
}

}  // namespace

QuantizationPass::QuantizationPass(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
                                   const QuantizeOptions& options, FloatWeights& kept)
    : model_(model),
      options_(options),
      settings_(model, quantizers, options),
      streams_(model, clock_, counts_),
      linears_(model, options, kept, settings_, clock_),
      scoring_(model, kept, settings_, clock_) {}

void QuantizationPass::run() {
  clock_.start();
  predict_memory();
  if (options_.calibration != nullptr) {
    streams_.open(*options_.calibration, settings_.needs());
  }
  streams_.embed_float();  // before the embedding is quantized
  if ((settings_.needs() & QUENCH_QUANTIZES_EMBEDDING) != 0) {
    quantize_embedding();
  }
  streams_.embed();
  scoring_.embed();
  for (uint32_t block = 0; block < model_.info().blocks; ++block) {
    run_block(block);
  }
  if ((settings_.needs() & QUENCH_QUANTIZES_HEAD) != 0) {
    quantize_head();
  }
  scoring_.finish();
  clock_.stop();
  finish();
}

void QuantizationPass::predict_memory() {
  const PassMemory memory = predict_pass_memory(model_, settings_.first(),
                                                work_of(model_, options_, settings_.all().size()));
  const quench_device device = model_.info().device;
  const bool on_gpu = device.type != QUENCH_DEVICE_CPU;
  counts_.predicted_peak_bytes =
      resident_memory_bytes() + (on_gpu ? memory.beside_gpu() : memory.total());
  if (on_gpu) {
    HostServices::instance().log(
        QUENCH_LOG_INFO, "",
        fmt::format("memory of the pass on cuda:{} beside the model: {:.1f} GB predicted{}",
                    device.index, static_cast<double>(memory.on_gpu()) / 1e9,
                    memory.rests || memory.scoring_rests
                        ? "; activations wait in host memory until their turn"
                        : ""));
  }
  if (counts_.predicted_peak_bytes > kReportedPeak) {
    HostServices::instance().log(
        QUENCH_LOG_INFO, "",
        fmt::format("peak memory of the pass: {:.1f} GB predicted{}",
                    static_cast<double>(counts_.predicted_peak_bytes) / 1e9,
                    settings_.first().says_memory()
                        ? ""
                        : fmt::format(", without what quantizer {} holds, which it does not say",
                                      settings_.first().id())));
  }
  forget_peak_memory();
}

void QuantizationPass::run_block(uint32_t block) {
  scoring_.begin_block();
  const uint32_t stages = model_.block(block).stage_count;
  if (settings_.rows_from() == RowsFrom::kFloatBlock) {
    run_float_block(block);
    report(block, stages - 1, stages);
  } else {
    for (uint32_t stage = 0; stage < stages; ++stage) {
      run_stage(block, stage);
      report(block, stage, stages);
    }
  }
  scoring_.end_block(block);
}

void QuantizationPass::run_stage(uint32_t block, uint32_t stage) {
  std::vector<ObservedGroup> groups = begin_groups(block, stage);
  if (stage == 0) {
    streams_.advance_float(block, 0);
  }
  streams_.advance(block, stage, groups);
  if (stage + 1 < model_.block(block).stage_count) {
    streams_.advance_float(block, stage + 1);
  }
  quantize_groups(block, stage, groups);
}

void QuantizationPass::run_float_block(uint32_t block) {
  const uint32_t stages = model_.block(block).stage_count;
  std::vector<ObservedGroup> groups;
  streams_.keep();
  for (uint32_t stage = 0; stage < stages; ++stage) {
    std::vector<ObservedGroup> fed = begin_groups(block, stage);
    streams_.advance_float(block, stage);
    streams_.advance(block, stage, fed);
    std::move(fed.begin(), fed.end(), std::back_inserter(groups));
  }
  quantize_groups(block, stages - 1, groups);
  streams_.rewind();
  std::vector<ObservedGroup> none;
  for (uint32_t stage = 0; stage < stages; ++stage) {
    streams_.advance(block, stage, none);
  }
}

std::vector<ObservedGroup> QuantizationPass::begin_groups(uint32_t block, uint32_t stage) {
  const quench_block_info& info = model_.block(block);
  std::vector<ObservedGroup> groups;
  groups.reserve(info.group_count);
  for (uint32_t g = 0; g < info.group_count; ++g) {
    if (info.groups[g].stage != stage) {
      continue;
    }
    const std::vector<double>* scale = nullptr;
    if (options_.input_scales != nullptr) {
      const auto found = options_.input_scales->find({block, g});
      scale = found != options_.input_scales->end() ? &found->second : nullptr;
    }
    groups.emplace_back(model_, info.groups[g], block, g, settings_.first(),
                        streams_.have_rows() ? options_.judge : nullptr, scale);
  }
  return groups;
}

void QuantizationPass::quantize_groups(uint32_t block, uint32_t stage,
                                       std::vector<ObservedGroup>& groups) {
  if (!streams_.have_rows() || (settings_.needs() & QUENCH_NEEDS_BLOCK_REPLAY) == 0) {
    quantize_linears(block, groups);
    return;
  }
  PassReplay replay =
      streams_.replay(block, stage + 1, settings_.rows_from() == RowsFrom::kFloatBlock);
  const OfferedReplay offered(replay);
  quantize_linears(block, groups);
}

void QuantizationPass::quantize_linears(uint32_t block, std::vector<ObservedGroup>& groups) {
  for (ObservedGroup& group : groups) {
    linears_.prepare_group(group);
    for (uint32_t linear = 0; linear < group.info().linear_count; ++linear) {
      linears_.quantize(block, group, linear);
    }
  }
}

void QuantizationPass::quantize_embedding() {
  for (const quench_parameter_info& parameter : model_.parameters()) {
    if (parameter.role != QUENCH_ROLE_EMBEDDING || parameter.dimensions != 2 ||
        parameter.shape[1] != model_.info().width) {
      continue;
    }
    quantize_outer(parameter, "embedding", nullptr, [](ObservedGroup&) {});
    for (PassSetting& setting : settings_.all()) {
      if (!setting.out.error && parameter.alias_count > 0) {
        setting.out.result.layers.back().texts["tied"] = "the output head too, which is tied to it";
      }
    }
    return;
  }
  fail(QUENCH_UNSUPPORTED, "{}: names no token embedding", model_.label());
}

void QuantizationPass::quantize_head() {
  for (const quench_parameter_info& parameter : model_.parameters()) {
    if (parameter.role == QUENCH_ROLE_HEAD && parameter.dimensions == 2) {
      quantize_outer(parameter, "head", streams_.have_rows() ? options_.judge : nullptr,
                     [&](ObservedGroup& group) { streams_.show_head_rows(group); });
      return;
    }
  }
  fail(QUENCH_UNSUPPORTED, "{}: its output head is tied to the embedding, which `lm_head` leaves",
       model_.label());
}

template <typename Observe>
void QuantizationPass::quantize_outer(const quench_parameter_info& parameter, const char* role,
                                      QuantizerHandle* judge, Observe observe) {
  const std::string module = module_of(parameter.name);
  const uint32_t blocks = model_.info().blocks;
  const quench_linear_info linear{sizeof linear,  0,       module.c_str(),     role,
                                  parameter.name, nullptr, parameter.shape[0], parameter.shape[1]};
  const quench_group_info info{sizeof info, 0, 0, -1, -1, 1, &linear, 0, nullptr};
  ObservedGroup group(model_, info, blocks, 0, settings_.first(), judge);
  observe(group);
  linears_.quantize(blocks, group, 0);
}

void QuantizationPass::report(uint32_t block, uint32_t stage, uint32_t stages) const {
  HostServices::instance().progress("", "quantizing stages", block * uint64_t{stages} + stage + 1,
                                    model_.info().blocks * uint64_t{stages});
}

void QuantizationPass::finish() {
  if (counts_.thin_groups > 0) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("{}: of {} groups of experts, {} were reached by fewer calibration rows than "
                    "they have columns, {} of them by none",
                    settings_.first().id(), counts_.routed_groups, counts_.thin_groups,
                    counts_.unreached_groups));
  }
  counts_.settings = settings_.all().size();
  counts_.seconds = clock_.seconds();
  counts_.cpu_seconds = clock_.cpu_seconds();
  for (PassSetting& setting : settings_.all()) {
    QuantizationResult& result = setting.out.result;
    static_cast<PassCounts&>(result) = counts_;
    result.peak_bytes = peak_memory_bytes();
    if (!setting.out.error) {
      result.bits_per_weight = bits_per_weight(result, setting.quantizer->id());
    }
  }
}

}  // namespace quench
