// Whatever the bytes: a graph whose references are valid, or an Error.
#include <cstdint>
#include <cstdlib>

#include "core/checkpoint/pickle.hpp"
#include "core/checkpoint/torch_state.hpp"
#include "core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quench::PickleGraph graph =
        quench::read_pickle(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    for (const quench::PickleValue& value : graph.values) {
      for (const quench::PickleId item : value.items) {
        if (item >= graph.values.size()) {
          std::abort();
        }
      }
    }
    for (const quench::NamedPickleTensor& named : quench::find_state(graph, "fuzz")) {
      if (named.tensor >= graph.tensors.size()) {
        std::abort();
      }
    }
  } catch (const quench::Error&) {
  }
  return 0;
}
