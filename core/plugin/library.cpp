#include "core/plugin/library.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;
namespace dll = boost::dll;

namespace {

FileStamp stamp_from(const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

FileStamp stamp_from(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    fail(QUENCH_DATA_LOSS, "{}", std::strerror(errno));
  }
  return stamp_from(status);
}

// The linker's own words out of Boost.DLL's exception.
std::string linker_message(const std::string& what) {
  constexpr std::string_view kMark = "dlerror system message: ";
  const size_t mark = what.find(kMark);
  if (mark == std::string::npos) {
    return printable(what, 400);
  }
  std::string message = what.substr(mark + kMark.size());
  if (const size_t end = message.rfind("): "); end != std::string::npos) {
    message.resize(end);  // what follows is the text of an error code that dlopen does not set
  } else if (!message.empty() && message.back() == ')') {
    message.pop_back();
  }
  return printable(message, 400);
}

std::unique_ptr<dll::shared_library> load(const fs::path& path) {
  try {
    return std::make_unique<dll::shared_library>(
        path, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  } catch (const std::system_error& failure) {
    fail(QUENCH_FAILED_PRECONDITION, "cannot be loaded: {}", linker_message(failure.what()));
  }
}

using Entry = const quench_module*();

Entry& entry_of(const dll::shared_library& library, const fs::path& path) {
  if (!library.has(QUENCH_ENTRY_SYMBOL)) {
    fail(QUENCH_FAILED_PRECONDITION, "has no symbol " QUENCH_ENTRY_SYMBOL);
  }
  // dlsym also finds what only a dependency defines.
  Entry& entry = library.get<Entry>(QUENCH_ENTRY_SYMBOL);
  std::error_code error;
  const fs::path from = dll::symbol_location_ptr(reinterpret_cast<const void*>(&entry), error);
  if (error || !fs::equivalent(from, path, error)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "has no symbol " QUENCH_ENTRY_SYMBOL " of its own; the one that was found is {}'s",
         from.string());
  }
  return entry;
}

}  // namespace

FileStamp stamp_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    fail(QUENCH_NOT_FOUND, "{}: {}", path.string(), std::strerror(errno));
  }
  return stamp_from(status);
}

FileHash hash_file(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    fail(QUENCH_NOT_FOUND, "{}: {}", path.string(), std::strerror(errno));
  }
  const std::unique_ptr<const int, void (*)(const int*)> closer(
      &descriptor, [](const int* open_one) { close(*open_one); });
  const FileStamp before = stamp_from(descriptor);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: no memory for its SHA-256", path.string());
  }
  std::vector<char> buffer(size_t{1} << 18);
  ssize_t got = 0;
  while ((got = read(descriptor, buffer.data(), buffer.size())) > 0) {
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<size_t>(got));
  }
  if (got < 0 || stamp_from(descriptor) != before) {
    fail(QUENCH_DATA_LOSS, "{}: {}", path.string(),
         got < 0 ? std::strerror(errno) : "changed while it was read");
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  EVP_DigestFinal_ex(context.get(), digest, &bytes);
  FileHash hash{"", before};
  for (unsigned int i = 0; i < bytes; ++i) {
    hash.sha256 += fmt::format("{:02x}", digest[i]);
  }
  return hash;
}

const quench_module* open_library(const fs::path& path) {
  struct Opened {
    std::unique_ptr<dll::shared_library> library;
    const quench_module* module;
  };
  // Never destroyed: code and constants of a plugin live until the process ends.
  static auto* opened = new std::map<fs::path, Opened>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const auto found = opened->find(path); found != opened->end()) {
    return found->second.module;
  }
  std::error_code error;
  if (fs::equivalent(path, dll::program_location(error), error)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "is the program itself");  // dlopen(NULL) would find its symbols
  }
  auto library = load(path);
  auto* kept = library.release();  // also when what follows fails: it may have threads by now
  const quench_module* module = entry_of(*kept, path)();
  if (module == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, QUENCH_ENTRY_SYMBOL " returned NULL");
  }
  opened->emplace(path, Opened{std::unique_ptr<dll::shared_library>(kept), module});
  return module;
}

}  // namespace quench
