// Whatever the bytes: a graph whose references are valid, or an Error; and parts of tensors that
// are the tensors, or an Error.
#include <cstdint>
#include <cstdlib>

#include "formats/dcp/metadata.hpp"
#include "formats/torch_archive/pickle.hpp"
#include "formats/torch_archive/torch_state.hpp"
#include "quench/kit/error.hpp"

namespace {

void read_state(std::string_view pickle) {
  try {
    const quench::formats::PickleGraph graph = quench::formats::read_pickle(pickle, "fuzz");
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
}

void read_parts(std::string_view pickle) {
  try {
    for (const quench::formats::DcpTensor& tensor :
         quench::formats::read_metadata(pickle, "fuzz")) {
      uint64_t held = 0;
      for (const quench::formats::DcpPart& part : tensor.parts) {
        held += *quench::formats::element_count(part.box.size);
      }
      if (held != *quench::formats::element_count(tensor.shape)) {
        std::abort();
      }
    }
  } catch (const quench::kit::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view pickle(reinterpret_cast<const char*>(data), size);
  read_state(pickle);
  read_parts(pickle);
  return 0;
}
