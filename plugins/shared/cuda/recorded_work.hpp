// What is told a GPU, recorded once and told again at once: a CUDA graph. Telling it costs the
// host one call, whatever the number of operations and kernels in it.
#pragma once

#include <filesystem>
#include <functional>

#include "shared/cuda/library.hpp"

namespace quench::cuda {

class RecordedWork {
 public:
  // Records what `work` tells `device` by libtorch and by kernels; none of it is done. It has to be
  // done once before, so that everything is loaded, and may not wait for the device. Tensors that
  // `work` makes are the recording's: they hold what the last run computed. Those that it reads and
  // writes beside them must keep their memory. `beside` (or null) lends its memory to tensors that
  // are dropped: only one of both may run at a time. Throws FAILED_PRECONDITION if there is no
  // graphs.so, INTERNAL if the device cannot record this, and what `work` throws.
  RecordedWork(int device, const RecordedWork* beside, const std::function<void()>& work,
               const std::filesystem::path& kernels = kernels_file());
  ~RecordedWork();
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

  // Tells the device all of it; waits for nothing. Throws INTERNAL with the reason.
  void run() const;

 private:
  int device_;
  std::filesystem::path graphs_;
  void* graph_ = nullptr;
};

}  // namespace quench::cuda
