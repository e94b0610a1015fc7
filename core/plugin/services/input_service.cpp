#include <cstring>

#include "core/error.hpp"
#include "core/plugin/services/opened_inputs.hpp"
#include "core/plugin/services/service_tables.hpp"

namespace quench {

namespace {

const std::string& reading_module(const quench_host* host) {
  return *static_cast<const std::string*>(host->context);
}

quench_status input_open(const quench_host* host, const char* path, uint64_t* size, char sha256[65],
                         quench_error* error) noexcept {
  return guarded(error, [&] {
    const OpenedInputs::Opened opened = OpenedInputs::instance().open(reading_module(host), path);
    *size = opened.size;
    std::memcpy(sha256, opened.sha256.c_str(), 65);
  });
}

quench_status input_read(const quench_host* host, const char* path, uint64_t offset, uint64_t bytes,
                         void* destination, quench_error* error) noexcept {
  return guarded(error, [&] {
    OpenedInputs::instance().read(reading_module(host), path, offset, bytes, destination);
  });
}

quench_status input_note(const quench_host* host, uint32_t flags, const char* name,
                         quench_error* error) noexcept {
  return guarded(error, [&] {
    const bool of_module = (flags & QUENCH_INPUT_OF_MODULE) != 0;
    OpenedInputs& inputs = OpenedInputs::instance();
    if ((flags & QUENCH_INPUT_VARIABLE) != 0) {
      inputs.note_variable(reading_module(host), name, of_module);
    } else {
      inputs.note(reading_module(host), name, of_module);
    }
  });
}

}  // namespace

const quench_input_service* input_service() {
  static constexpr quench_input_service kTable = {sizeof(quench_input_service), input_open,
                                                  input_read, input_note};
  return &kTable;
}

}  // namespace quench
