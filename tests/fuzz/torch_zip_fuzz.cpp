// Whatever the bytes: a source whose small tensors can be read, or an Error.
#include <cstdint>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "tests/fuzz/fuzzed_file.hpp"
#include "tests/plugins/formats/torch/archive_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const quench::fuzz::FuzzedFile file(data, size);
  try {
    const quench::test::ArchiveSource source(file.path());
    for (uint64_t i = 0; i < source.count(); ++i) {
      const uint64_t elements = *quench::element_count(source.info(i).shape);
      const uint64_t some = elements < 1000 ? elements : 1000;
      std::vector<char> out(some * quench::dtype_size(source.info(i).dtype));
      source.read(i, 0, some, out.data());
      source.read(i, elements - some, some, out.data());
    }
  } catch (const quench::Error&) {
  }
  return 0;
}
