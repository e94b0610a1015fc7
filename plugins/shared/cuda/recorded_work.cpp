#include "shared/cuda/recorded_work.hpp"

#include "shared/cuda/entries.h"
#include "shared/cuda/graphs.h"

namespace quench::cuda {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_on(int device, const char* why) {
  kit::fail(QUENCH_INTERNAL, "device cuda:%d: recording: %s", device, why);
}

// Kernels are started where libtorch's operations are recorded, while it lives.
class KernelStream {
 public:
  KernelStream(const fs::path& kernels, void* stream) {
    if (has_kernels(kernels)) {
      use_ = entry<decltype(quench_cuda_use_stream)>(kernels, "quench_cuda_use_stream");
      use_(stream);
    }
  }
  ~KernelStream() {
    if (use_ != nullptr) {
      use_(nullptr);
    }
  }
  KernelStream(const KernelStream&) = delete;
  KernelStream& operator=(const KernelStream&) = delete;

 private:
  decltype(quench_cuda_use_stream)* use_ = nullptr;
};

}  // namespace

RecordedWork::RecordedWork(int device, const RecordedWork* beside,
                           const std::function<void()>& work, const fs::path& kernels)
    : device_(device), graphs_(kernels.parent_path() / "graphs.so") {
  const auto begin = entry<decltype(quench_cuda_graph_begin)>(graphs_, "quench_cuda_graph_begin");
  const auto end = entry<decltype(quench_cuda_graph_end)>(graphs_, "quench_cuda_graph_end");
  const auto release =
      entry<decltype(quench_cuda_graph_release)>(graphs_, "quench_cuda_graph_release");
  char why[512] = {};
  void* stream = nullptr;
  if (begin(device, beside == nullptr ? nullptr : beside->graph_, &graph_, &stream, why,
            sizeof why) != 0) {
    fail_on(device, why);
  }
  try {
    {
      const KernelStream here(kernels, stream);
      work();
    }
    if (end(graph_, why, sizeof why) != 0) {
      fail_on(device, why);
    }
  } catch (...) {
    release(graph_);
    throw;
  }
}

RecordedWork::~RecordedWork() {
  entry<decltype(quench_cuda_graph_release)>(graphs_, "quench_cuda_graph_release")(graph_);
}

void RecordedWork::run() const {
  char why[512] = {};
  const auto run = entry<decltype(quench_cuda_graph_run)>(graphs_, "quench_cuda_graph_run");
  if (run(graph_, why, sizeof why) != 0) {
    fail_on(device_, why);
  }
}

}  // namespace quench::cuda
