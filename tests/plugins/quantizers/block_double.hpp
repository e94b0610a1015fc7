// A stand-in for the host's block service (quench/abi/extension/block.h): a block of one group
// whose linears read rows x that are given, and add their outputs to a stream of zeros.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "quench/abi/extension/block.h"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/plugins/quantizers/matrix.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

// As long as it lives, kit code of this process finds the service. Batches stand before stage 1 of
// 2; stage 1 applies the linears, whose outputs lie side by side in the stream.
class BlockDouble {
 public:
  BlockDouble(std::vector<Matrix> batches, std::map<std::string, Matrix> weights)
      : batches_(std::move(batches)), weights_(std::move(weights)) {
    current = this;
    host_ = *test_host();
    host_.service = find;
    kit::current_host = &host_;
    info_ = {sizeof info_, 2, 1, &group_};
    group_.struct_size = sizeof group_;
    group_.input = 1;
    group_.rows = -1;
    group_.expert = -1;
  }
  ~BlockDouble() {
    kit::current_host = test_host();
    current = nullptr;
  }
  BlockDouble(const BlockDouble&) = delete;
  BlockDouble& operator=(const BlockDouble&) = delete;

  int replays() const { return replays_; }

 private:
  static inline BlockDouble* current = nullptr;

  static const void* find(const quench_host*, const char* id) noexcept {
    static constexpr quench_block_service kTable = {
        sizeof(quench_block_service), place, replay, weight, nullptr, nullptr};
    return std::strcmp(id, QUENCH_SERVICE_BLOCK) == 0 ? &kTable
                                                      : test_host()->service(test_host(), id);
  }
  static quench_status place(const quench_host*, quench_replay_place* out, quench_error*) noexcept {
    *out = {sizeof *out, 0, 1, 2, current->batches_.size(), &current->info_};
    return QUENCH_OK;
  }
  static quench_status replay(const quench_host*, const quench_replay_args* args,
                              const quench_tensor** tensors, uint32_t* count,
                              quench_error* error) noexcept {
    return kit::guard(error, [&] {
      kit::expects(args->to_stage == 2, "replay: wanted stage 2");
      ++current->replays_;
      std::map<std::string, Matrix> weights = current->weights_;
      for (uint32_t i = 0; i < args->overlay_count; ++i) {
        Matrix& own = weights.at(args->overlays[i].parameter);
        own.values = kit::to_doubles(args->overlays[i].value, "overlay");
      }
      current->run(current->batches_.at(args->batch), weights);
      *tensors = &current->view_;
      *count = 1;
    });
  }
  static quench_status weight(const quench_host*, const char* parameter,
                              const quench_tensor* destination, quench_error* error) noexcept {
    return kit::guard(error, [&] {
      kit::from_doubles(current->weights_.at(parameter).values, *destination, parameter);
    });
  }

  void run(const Matrix& x, const std::map<std::string, Matrix>& weights) {
    std::vector<Matrix> outputs;
    int64_t width = 0;
    for (const auto& [name, w] : weights) {
      outputs.push_back(product(x, transposed(w)));
      width += w.rows;
    }
    stream_.clear();
    stream_.emplace_back(std::vector<int64_t>{x.rows, width});
    size_t at = 0;
    for (int64_t r = 0; r < x.rows; ++r) {
      for (const Matrix& output : outputs) {
        for (int64_t c = 0; c < output.columns; ++c) {
          stream_[0].values()[at++] = output(r, c);
        }
      }
    }
    view_ = stream_[0].view();
  }

  std::vector<Matrix> batches_;
  std::map<std::string, Matrix> weights_;
  quench_host host_{};
  quench_group_info group_{};
  quench_block_info info_{};
  std::deque<kit::OwnedTensor<double>> stream_;
  quench_tensor view_{};
  int replays_ = 0;
};

}  // namespace quench::test
