#include "shared/cuda/graphs.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdio>
#include <exception>
#include <memory>

namespace {

struct Recording {
  explicit Recording(c10::cuda::CUDAStream own, c10::cuda::CUDAStream earlier)
      : stream(own), before(earlier) {}

  at::cuda::CUDAGraph graph;
  c10::cuda::CUDAStream stream;
  c10::cuda::CUDAStream before;  // the thread's, which it gets back
  bool is_open = false;

  void close() {
    is_open = false;
    c10::cuda::setCurrentCUDAStream(before);
    graph.capture_end();
  }
};

template <typename Body>
int told(char* why, size_t why_bytes, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(why, why_bytes, "%s", error.what());
    return 1;
  }
}

}  // namespace

extern "C" {

int quench_cuda_graph_begin(int device, const void* beside, void** graph, void** stream, char* why,
                            size_t why_bytes) {
  return told(why, why_bytes, [&] {
    const auto index = static_cast<c10::DeviceIndex>(device);
    auto made = std::make_unique<Recording>(c10::cuda::getStreamFromPool(false, index),
                                            c10::cuda::getCurrentCUDAStream(index));
    c10::cuda::setCurrentCUDAStream(made->stream);
    try {
      // Of this thread alone: others may allocate and copy meanwhile.
      const c10::MempoolId_t own{0, 0};
      auto* lent = const_cast<Recording*>(static_cast<const Recording*>(beside));
      made->graph.capture_begin(lent == nullptr ? own : lent->graph.pool(),
                                cudaStreamCaptureModeThreadLocal);
    } catch (...) {
      c10::cuda::setCurrentCUDAStream(made->before);
      throw;
    }
    made->is_open = true;
    *stream = made->stream.stream();
    *graph = made.release();
  });
}

int quench_cuda_graph_end(void* graph, char* why, size_t why_bytes) {
  return told(why, why_bytes, [&] { static_cast<Recording*>(graph)->close(); });
}

int quench_cuda_graph_run(void* graph, char* why, size_t why_bytes) {
  return told(why, why_bytes, [&] { static_cast<Recording*>(graph)->graph.replay(); });
}

void quench_cuda_graph_release(void* graph) {
  auto* recording = static_cast<Recording*>(graph);
  char why[1];
  if (recording->is_open) {
    told(why, sizeof why, [&] { recording->close(); });
  }
  told(why, sizeof why, [&] { delete recording; });
}
}
