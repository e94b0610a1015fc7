#include "core/plugin/worker/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>

#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

fs::path temporary_folder() {
  const char* set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

}  // namespace

ScratchFolder::ScratchFolder() {
  path_ = temporary_beside(temporary_folder() / "quench-worker", ".scratch");
  if (mkdir(path_.c_str(), 0700) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: no folder can be made there",
         path_.parent_path().string());
  }
  folder_ = Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  remove_abandoned_beside(path_);
  beat_.emplace(kTouchInterval, [this] { futimens(folder_.get(), nullptr); });
}

ScratchFolder::~ScratchFolder() {
  beat_.reset();
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace quench
