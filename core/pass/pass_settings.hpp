// The settings that share one pass, each with its progress.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/pass/quantize_model.hpp"
#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

// The state of the model that a group's activations come from.
enum class RowsFrom {
  kQuantized,   // everything before is quantized: one forward per block
  kFloatBlock,  // earlier blocks are: two forwards per block, the second with its quantized weights
  kFloat        // nothing is quantized: one forward for any number of settings
};

struct PassSetting {
  QuantizerHandle* quantizer;
  QuantizedSetting out;  // has its weights only if activations come from the float model
  std::vector<FusedScore> fused;
};

class PassSettings {
 public:
  // The quantizers can share a pass, or there is only one.
  PassSettings(ModelHandle& model, std::span<QuantizerHandle* const> quantizers,
               const QuantizeOptions& options);

  // The quantizer whose groups all others accept.
  QuantizerHandle& first() const { return *settings_.front().quantizer; }
  uint32_t needs() const { return first().needs(); }
  RowsFrom rows_from() const;
  std::vector<PassSetting>& all() { return settings_; }
  const std::vector<PassSetting>& all() const { return settings_; }

  // Runs `body` for each setting that has not failed; throws the failure of the only one.
  template <typename Body>
  void for_each(Body body) {
    for (size_t i = 0; i < settings_.size(); ++i) {
      stop_if_asked();
      if (settings_[i].out.error) {
        continue;
      }
      std::optional<CellsAtWork> at_work;
      if (i < keys_.size()) {
        at_work.emplace(keys_[i]);
      }
      try {
        body(settings_[i]);
      } catch (const Error& error) {
        fail_setting(settings_[i], error);
      }
    }
  }

 private:
  // Throws the error if the whole pass ends with it.
  void fail_setting(PassSetting& setting, const Error& error) const;

  std::vector<PassSetting> settings_;
  std::span<const std::span<const std::string>> keys_;  // by setting, or empty
};

}  // namespace quench
