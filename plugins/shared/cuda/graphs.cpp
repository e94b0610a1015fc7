#include "shared/cuda/graphs.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>

namespace {

namespace memory = c10::cuda::CUDACachingAllocator;

void check(cudaError_t result) {
  if (result != cudaSuccess) {
    cudaGetLastError();  // a refusal is no error of what comes next
    throw std::runtime_error(cudaGetErrorString(result));
  }
}

// All recordings of a device are made on one stream: memory that one of them has given back is
// found by the next only there. A stream of high priority, so that it is no copy's.
c10::cuda::CUDAStream recording_stream(c10::DeviceIndex device) {
  static auto* streams = new std::map<c10::DeviceIndex, c10::cuda::CUDAStream>;
  const auto found = streams->find(device);
  return found != streams->end()
             ? found->second
             : streams->emplace(device, c10::cuda::getStreamFromPool(true, device)).first->second;
}

// Memory of recordings that lend it to each other. libtorch counts its uses, too: one for each
// beginAllocateToPool.
using Pool = std::shared_ptr<const c10::MempoolId_t>;

// at::cuda::CUDAGraph leaves allocators in the state of a recording when one fails, and that is how
// a refused one ends.
class Recording {
 public:
  Recording(c10::DeviceIndex device, Pool pool)
      : device_(c10::kCUDA, device),
        pool_(std::move(pool)),
        stream_(recording_stream(device)),
        before_(c10::cuda::getCurrentCUDAStream(device)) {
    const c10::DeviceGuard guard(device_);
    c10::cuda::setCurrentCUDAStream(stream_);
    try {
      const cudaStream_t own = stream_.stream();
      memory::beginAllocateToPool(device, *pool_,
                                  [own](cudaStream_t stream) { return stream == own; });
      has_pool_ = true;
      allocates_ = true;
      // Only this thread's own waits are refused: others may allocate and copy meanwhile.
      check(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
      is_open_ = true;
    } catch (...) {
      c10::cuda::setCurrentCUDAStream(before_);
      abandon();
      throw;
    }
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  ~Recording() {
    const c10::DeviceGuard guard(device_);
    abandon();
  }

  const Pool& pool() const { return pool_; }
  void* stream() const { return stream_.stream(); }

  void close() {
    const c10::DeviceGuard guard(device_);
    cudaGraph_t graph = nullptr;
    check(end(&graph));
    const cudaError_t made = cudaGraphInstantiate(&work_, graph, 0);
    cudaGraphDestroy(graph);
    check(made);
  }

  void run() const {
    const c10::DeviceGuard guard(device_);
    check(cudaGraphLaunch(work_, c10::cuda::getCurrentCUDAStream(device_.index()).stream()));
  }

 private:
  // Gives the thread its stream back, and the pool back its own memory, whatever was captured.
  cudaError_t end(cudaGraph_t* graph) {
    cudaError_t ended = cudaSuccess;
    if (is_open_) {
      is_open_ = false;
      ended = cudaStreamEndCapture(stream_.stream(), graph);
    }
    c10::cuda::setCurrentCUDAStream(before_);
    if (allocates_) {
      allocates_ = false;
      memory::endAllocateToPool(device_.index(), *pool_);
    }
    return ended;
  }

  void abandon() {
    if (allocates_) {
      cudaGraph_t graph = nullptr;
      if (end(&graph) == cudaSuccess) {
        cudaGraphDestroy(graph);
      }
      cudaGetLastError();
    }
    if (work_ != nullptr) {
      cudaGraphExecDestroy(work_);
    }
    if (has_pool_) {
      if (pool_.use_count() == 1) {  // what runs now may still use it
        cudaDeviceSynchronize();
      }
      memory::releasePool(device_.index(), *pool_);
    }
  }

  c10::Device device_;
  Pool pool_;
  c10::cuda::CUDAStream stream_;
  c10::cuda::CUDAStream before_;  // the thread's, which it gets back
  bool has_pool_ = false;
  bool allocates_ = false;
  bool is_open_ = false;
  cudaGraphExec_t work_ = nullptr;
};

Pool pool_beside(const void* beside) {
  if (beside != nullptr) {
    return static_cast<const Recording*>(beside)->pool();
  }
  memory::emptyCache();  // a recording cannot have memory that others gave back
  return std::make_shared<const c10::MempoolId_t>(at::cuda::graph_pool_handle());
}

template <typename Body>
int told(char* why, size_t why_bytes, const Body& body) {
  try {
    body();
    return 0;
  } catch (const c10::Error& error) {
    std::snprintf(why, why_bytes, "%s", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::snprintf(why, why_bytes, "%s", error.what());
  }
  return 1;
}

}  // namespace

extern "C" {

int quench_cuda_graph_begin(int device, const void* beside, void** graph, void** stream, char* why,
                            size_t why_bytes) {
  return told(why, why_bytes, [&] {
    auto made =
        std::make_unique<Recording>(static_cast<c10::DeviceIndex>(device), pool_beside(beside));
    *stream = made->stream();
    *graph = made.release();
  });
}

int quench_cuda_graph_end(void* graph, char* why, size_t why_bytes) {
  return told(why, why_bytes, [&] { static_cast<Recording*>(graph)->close(); });
}

int quench_cuda_graph_run(void* graph, char* why, size_t why_bytes) {
  return told(why, why_bytes, [&] { static_cast<Recording*>(graph)->run(); });
}

void quench_cuda_graph_release(void* graph) {
  delete static_cast<Recording*>(graph);
}
}
