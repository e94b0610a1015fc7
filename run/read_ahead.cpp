#include "run/read_ahead.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <exception>

#include "core/inputs/weights/open_checkpoint.hpp"

namespace quench {

namespace {

void ask_for(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
      ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED);
      ::close(descriptor);
    }
  }
}

}  // namespace

void ReadAhead::begin(std::vector<const CheckpointCell*> cells) {
  wait();
  thread_ = std::thread([this, cells = std::move(cells)] {
    for (const CheckpointCell* cell : cells) {
      try {
        if (identities_.remembered(*cell)) {
          ask_for(open_checkpoint_folder(identities_.catalog(), locate_checkpoint(*cell, hub_).path)
                      .files);
        } else {
          identities_.read(*cell);
        }
      } catch (const std::exception&) {
        return;
      }
    }
  });
}

void ReadAhead::wait() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace quench
