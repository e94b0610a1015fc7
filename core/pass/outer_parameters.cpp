#include "core/pass/outer_parameters.hpp"

#include "core/error.hpp"

namespace quench {

namespace {

// "lm_head.weight" -> "lm_head".
std::string module_of(const std::string& parameter) {
  constexpr std::string_view kEnding = ".weight";
  return parameter.ends_with(kEnding) ? parameter.substr(0, parameter.size() - kEnding.size())
                                      : parameter;
}

}  // namespace

OuterParameters::OuterParameters(ModelHandle& model, const QuantizeOptions& options,
                                 PassSettings& settings, CalibrationStreams& streams,
                                 LinearQuantization& linears)
    : model_(model), options_(options), settings_(settings), streams_(streams), linears_(linears) {}

void OuterParameters::quantize_embedding() {
  for (const quench_parameter_info& parameter : model_.parameters()) {
    if (parameter.role != QUENCH_ROLE_EMBEDDING || parameter.dimensions != 2 ||
        parameter.shape[1] != model_.info().width) {
      continue;
    }
    quantize(parameter, "embedding", nullptr, [](ObservedGroup&) {});
    for (PassSetting& setting : settings_.all()) {
      if (!setting.out.error && parameter.alias_count > 0) {
        setting.out.result.layers.back().texts["tied"] = "the output head too, which is tied to it";
      }
    }
    return;
  }
  fail(QUENCH_UNSUPPORTED, "{}: names no token embedding", model_.label());
}

void OuterParameters::quantize_head() {
  for (const quench_parameter_info& parameter : model_.parameters()) {
    if (parameter.role == QUENCH_ROLE_HEAD && parameter.dimensions == 2) {
      quantize(parameter, "head", streams_.have_rows() ? options_.judge : nullptr,
               [&](ObservedGroup& group) { streams_.show_head_rows(group); });
      return;
    }
  }
  fail(QUENCH_UNSUPPORTED, "{}: its output head is tied to the embedding, which `lm_head` leaves",
       model_.label());
}

template <typename Observe>
void OuterParameters::quantize(const quench_parameter_info& parameter, const char* role,
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

}  // namespace quench
