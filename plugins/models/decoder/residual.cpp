#include "models/decoder/residual.hpp"

#include <utility>

#include "quench/kit/error.hpp"

namespace quench::decoder {

namespace {

const char* or_null(const std::string& name) {
  return name.empty() ? nullptr : name.c_str();
}

}  // namespace

ResidualPlan::ResidualPlan(ResidualSpec spec) : spec_(std::move(spec)) {
  for (const ResidualNorm& norm : spec_.norms) {
    auto& readers = readers_.emplace_back();
    for (const std::string& reader : norm.readers) {
      readers.push_back(reader.c_str());
    }
  }
  for (size_t n = 0; n < spec_.norms.size(); ++n) {
    const ResidualNorm& norm = spec_.norms[n];
    norms_.push_back({sizeof(quench_residual_norm), norm.kind, or_null(norm.scale),
                      or_null(norm.shift), static_cast<uint32_t>(readers_[n].size()),
                      readers_[n].data()});
  }
  for (const ResidualWriter& writer : spec_.writers) {
    writers_.push_back(
        {sizeof(quench_residual_writer), writer.axis, writer.weight.c_str(), or_null(writer.bias)});
  }
  info_ = {sizeof info_, static_cast<uint32_t>(norms_.size()), norms_.data(),
           static_cast<uint32_t>(writers_.size()), writers_.data()};
}

const quench_residual_info& ResidualPlan::info() const {
  if (!spec_.refusal.empty()) {
    throw kit::Error(QUENCH_UNSUPPORTED, spec_.refusal);
  }
  return info_;
}

}  // namespace quench::decoder
