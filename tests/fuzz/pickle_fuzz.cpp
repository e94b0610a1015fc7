// Whatever the bytes: a graph whose references are valid, or an Error.
#include <cstdint>
#include <cstdlib>

#include "formats/torch/pickle.hpp"
#include "formats/torch/torch_state.hpp"
#include "quench/kit/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quench::formats::PickleGraph graph = quench::formats::read_pickle(
        std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    for (const quench::formats::PickleValue& value : graph.values) {
      for (const quench::formats::PickleId item : value.items) {
        if (item >= graph.values.size()) {
          std::abort();
        }
      }
    }
    for (const quench::formats::NamedPickleTensor& named :
         quench::formats::find_state(graph, "fuzz")) {
      if (named.tensor >= graph.tensors.size()) {
        std::abort();
      }
    }
  } catch (const quench::kit::Error&) {
  }
  return 0;
}
