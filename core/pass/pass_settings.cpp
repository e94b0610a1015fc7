#include "core/pass/pass_settings.hpp"

#include "core/plugin/services/host_services.hpp"

namespace quench {

PassSettings::PassSettings(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
                           const QuantizeOptions& options)
    : keys_(options.setting_keys) {
  for (QuantizerHandle* quantizer : quantizers) {
    PassSetting& setting = settings_.emplace_back();
    setting.quantizer = quantizer;
    quantizer->begin_pass();
    if (options.store_as != nullptr) {
      setting.out.result.stored = std::make_shared<FormatWriter>(*options.store_as);
    }
    for (const ScoreRequest& request : options.fused) {
      setting.fused.emplace_back(model, request);
    }
  }
}

RowsFrom PassSettings::rows_from() const {
  return (needs() & QUENCH_NEEDS_FLOAT_ROWS) != 0   ? RowsFrom::kFloat
         : (needs() & QUENCH_NEEDS_BLOCK_ROWS) != 0 ? RowsFrom::kFloatBlock
                                                    : RowsFrom::kQuantized;
}

void PassSettings::fail_setting(PassSetting& setting, const Error& error) const {
  if (settings_.size() == 1 || HostServices::instance().cancel_flag()) {
    throw error;
  }
  setting.out.error = error;
  setting.out.weights.clear();
}

}  // namespace quench
