#include "quantizers/cache/cache_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include "quantizers/cache/cache_format.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"
#include "quench/kit/torch.hpp"
#include "shared/hadamard/hadamard.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

// Tokens of a head that one task rounds where each is rounded by itself.
constexpr int64_t kTokensAtOnce = 64;

quench_status apply_op(void* context, const quench_cache_args* args, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    static_cast<const CacheRounding*>(context)->apply(kit::borrow(*args->keys),
                                                      kit::borrow(*args->values), *args->batch);
  });
}

void release_op(void* context) noexcept {
  delete static_cast<CacheRounding*>(context);
}

}  // namespace

CacheRounding::CacheRounding(const CacheSettings& settings, uint32_t block)
    : settings_(settings),
      block_(block),
      format_(settings.rounds() ? cache_format(settings) : nullptr) {}

double CacheRounding::bits() const {
  return format_->bits() + format_->range_bits() / static_cast<double>(settings_.group_size);
}

std::vector<CacheRounding::Run> CacheRounding::runs_of(const quench_batch& batch) {
  const int64_t rows = batch.tokens->shape[0];
  const int64_t length = batch.tokens->shape[1];
  std::span<const int32_t> segments;
  if (batch.segments != nullptr) {
    segments = kit::elements<int32_t>(*batch.segments, "batch: segments");
  }
  std::vector<Run> runs;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t at = row * length; at < (row + 1) * length;) {
      int64_t end = segments.empty() ? (row + 1) * length : at + 1;
      while (end < (row + 1) * length &&
             segments[static_cast<size_t>(end)] == segments[static_cast<size_t>(at)]) {
        ++end;
      }
      if (segments.empty() || segments[static_cast<size_t>(at)] >= 0) {
        runs.push_back({at, end - at});
      }
      at = end;
    }
  }
  return runs;
}

CacheRange CacheRounding::range() const {
  return {takes_extremes(settings_), settings_.clip};
}

void CacheRounding::round_group(std::span<double> values) const {
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  format_->round(values, range().of(*least, *largest));
}

void CacheRounding::round_head(std::vector<double>& values, int64_t width, const Part& part) const {
  const auto columns = static_cast<size_t>(width);
  const auto group = static_cast<size_t>(settings_.group_size);
  const size_t tokens = values.size() / columns;
  if (!part.by_channel) {
    for (size_t first = 0; first < values.size(); first += group) {
      round_group(std::span(values).subspan(first, group));
    }
    return;
  }
  std::vector<double> channel;
  for (size_t first = 0; first < tokens; first += group) {
    channel.resize(std::min(group, tokens - first));
    for (size_t c = 0; c < columns; ++c) {
      for (size_t t = 0; t < channel.size(); ++t) {
        channel[t] = values[(first + t) * columns + c];
      }
      round_group(channel);
      for (size_t t = 0; t < channel.size(); ++t) {
        values[(first + t) * columns + c] = channel[t];
      }
    }
  }
}

template <typename T>
void CacheRounding::round_as(T* values, int64_t heads, int64_t width, const std::vector<Run>& runs,
                             const Part& part) const {
  std::optional<hadamard::Hadamard> rotation;
  if (part.rotates) {
    rotation.emplace(width);
  }
  const auto check = [&](double value, int64_t token, int64_t head, const char* what) {
    if (!std::isfinite(value)) {
      kit::fail(QUENCH_NUMERICAL, "block %u: %s: token %lld, head %lld: %s", block_, part.name,
                static_cast<long long>(token), static_cast<long long>(head), what);
    }
  };
  // What is rounded together: a head of a run, or of some tokens of it.
  std::vector<Run> tasks;
  for (const Run& run : runs) {
    const int64_t most = part.by_channel ? run.count : kTokensAtOnce;
    for (int64_t at = 0; at < run.count; at += most) {
      tasks.push_back({run.first + at, std::min(most, run.count - at)});
    }
  }
  kit::parallel_for(tasks.size() * static_cast<uint64_t>(heads), 1,
                    [&](uint64_t begin, uint64_t end) {
                      std::vector<double> own;
                      std::vector<double> scratch(static_cast<size_t>(width));
                      for (uint64_t task = begin; task < end; ++task) {
                        const Run& run = tasks[task / static_cast<uint64_t>(heads)];
                        const auto head = static_cast<int64_t>(task % static_cast<uint64_t>(heads));
                        own.resize(static_cast<size_t>(run.count * width));
                        for (int64_t t = 0; t < run.count; ++t) {
                          const T* from = values + ((run.first + t) * heads + head) * width;
                          double* row = own.data() + t * width;
                          for (int64_t c = 0; c < width; ++c) {
                            row[c] = static_cast<double>(from[c]);
                            check(row[c], run.first + t, head, "not finite");
                          }
                          if (rotation) {
                            rotation->apply(row, scratch.data());
                          }
                        }
                        if (format_ != nullptr) {
                          round_head(own, width, part);
                        }
                        for (int64_t t = 0; t < run.count; ++t) {
                          T* to = values + ((run.first + t) * heads + head) * width;
                          double* row = own.data() + t * width;
                          if (rotation) {
                            rotation->undo(row, scratch.data());
                          }
                          for (int64_t c = 0; c < width; ++c) {
                            check(row[c], run.first + t, head, "its range overflows");
                            to[c] = static_cast<T>(row[c]);
                          }
                        }
                      }
                    });
}

void CacheRounding::round(const at::Tensor& x, const std::vector<Run>& runs,
                          const Part& part) const {
  const int64_t heads = x.size(1);
  const int64_t width = x.size(2);
  if (format_ != nullptr && !part.by_channel && width % settings_.group_size != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "block %u: %s: cache_group_size = %lld does not divide the %lld numbers of a head",
              block_, part.name, static_cast<long long>(settings_.group_size),
              static_cast<long long>(width));
  }
  if (!matrix::on_host(x) && round_there(x, runs, part)) {
    return;
  }
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  // `x` itself, if it can be written there.
  const at::Tensor there = x.to(at::kCPU).to(type).contiguous();
  if (type == at::kDouble) {
    round_as(there.data_ptr<double>(), heads, width, runs, part);
  } else {
    round_as(there.data_ptr<float>(), heads, width, runs, part);
  }
  if (!there.is_same(x)) {
    x.copy_(there);
  }
}

void CacheRounding::apply(const at::Tensor& keys, const at::Tensor& values,
                          const quench_batch& batch) const {
  const c10::InferenceMode inference;
  const std::vector<Run> runs = runs_of(batch);
  round(keys, runs, {"keys", settings_.keys == "channel", settings_.rotates_keys()});
  round(values, runs, {"values", settings_.values == "channel", settings_.rotates_values()});
}

void round_cache(const CacheSettings& settings, const kit::LinearToQuantize& linear,
                 kit::QuantizeSink& sink) {
  const std::string_view role = linear.info.role != nullptr ? linear.info.role : "";
  if (!settings.acts() || !linear.first || role == "head" || role == "embedding") {
    return;
  }
  auto made = std::make_unique<CacheRounding>(settings, linear.block);
  if (settings.rounds()) {
    sink.number("cache_bits", made->bits());
  }
  sink.text("cache", settings.format);
  sink.cache_op({sizeof(quench_cache_op), made.get(), apply_op, release_op});
  static_cast<void>(made.release());  // the host owns it now
}

}  // namespace quench::quantizers
