// graphs.so for a GPU that is none. As CUDA does, it refuses a recording in which something waited
// for the device.
#include "shared/cuda/graphs.h"

#include <cstdio>

#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/recording.hpp"

namespace quench::test {

namespace {

struct Recording {
  bool is_open = true;
  Told told;

  void close() {
    told = end_recording();
    is_open = false;
  }
};

}  // namespace

extern "C" {

int quench_cuda_graph_begin(int, const void*, void** graph, void** stream, char* why,
                            size_t why_bytes) {
  if (!begin_recording()) {
    std::snprintf(why, why_bytes, "a recording is open");
    return 1;
  }
  auto* made = new Recording;
  *graph = made;
  *stream = made;  // no kernel is started there, but it is not the first stream
  return 0;
}

int quench_cuda_graph_end(void* graph, char*, size_t) {
  static_cast<Recording*>(graph)->close();
  pretended_count("a recording");
  return 0;
}

int quench_cuda_graph_run(void* graph, char*, size_t) {
  for (const auto& work : static_cast<Recording*>(graph)->told) {
    work();
  }
  pretended_count("a recording told again");
  return 0;
}

void quench_cuda_graph_release(void* graph) {
  auto* recording = static_cast<Recording*>(graph);
  if (recording->is_open) {
    recording->close();
  }
  delete recording;
}
}

}  // namespace quench::test
