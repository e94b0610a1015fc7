// What plugins read besides what the host hands to them: files that they open through the host
// (quench.input/1), and files and environment variables that they were seen to read themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/base/io/file.hpp"

namespace quench {

// Files and variables that one process may note.
inline constexpr size_t kMaxOpenedInputs = 100'000;

// Who reads: an instance of a plugin, or, with less of it said, all instances, all of the module.
struct InputReader {
  std::string module = {};      // id
  std::string label = {};       // "metric perplexity", or "": all items of the module
  std::string parameters = {};  // of the instance, as it was given them, or "": all instances
  auto operator<=>(const InputReader&) const = default;
};

// By name, the SHA-256 of the content, or kAbsentInput.
using InputHashes = std::map<std::string, std::string>;
inline constexpr const char* kAbsentInput = "absent";

struct ReadInputs {
  InputHashes files;      // by real path
  InputHashes variables;  // hashes of their values
};

// SHA-256 of what the file holds, or kAbsentInput.
std::string input_file_hash(const std::filesystem::path& file);
// The same of an environment variable, as processes of plugins get it.
std::string input_variable_hash(const std::string& name);

// One for the process. All functions are [thread-safe].
class OpenedInputs {
 public:
  static OpenedInputs& instance();

  // Which files a module notes: those that it may open, or what its interpreter saw it open, which
  // knows the places of its own modules.
  enum class Notes { kAllowed, kAll };
  // What a module in a process of its own may open: what lies in one of these folders. Without it a
  // module may open all.
  void allow(const std::string& module, const std::vector<std::filesystem::path>& folders,
             Notes notes = Notes::kAllowed);
  // The keys have this content of a file that the module reads.
  void expect(const std::string& module, const std::filesystem::path& file,
              const std::string& sha256);

  struct Opened {
    uint64_t size = 0;
    std::string sha256;
  };
  // As quench_input_service says; throw Error.
  Opened open(const std::string& module, const std::string& path);
  void read(const std::string& module, const std::string& path, uint64_t offset, uint64_t bytes,
            void* destination);
  void note(const std::string& module, const std::string& path, bool of_module);
  void note_variable(const std::string& module, const std::string& name, bool of_module);

  // All that was read by this instance, its plugin and its module so far. Throws Error(UNAVAILABLE)
  // if something of it is not what it was when it was read.
  ReadInputs of(const InputReader& reader) const;

  // Whether it has opened each of these files, or something in each of these folders.
  bool has_opened(const InputReader& reader,
                  const std::vector<std::filesystem::path>& places) const;

  // The reader has read files behind the host's back.
  void mark_unchecked(const InputReader& reader);
  bool is_unchecked(const InputReader& reader) const;

 private:
  struct Held {
    FileIdentity identity;  // all zero: it was absent
    std::string sha256;
    std::vector<uint64_t> pieces;  // checksums; none of a file that was only noted
  };
  struct Read {
    std::set<std::string> files;
    InputHashes variables;
  };

  std::filesystem::path locate(const std::string& module, const std::string& path) const;
  const Held& hold(const std::string& module, const std::filesystem::path& file, bool with_pieces);
  void add(const std::string& module, const std::string& file, bool of_module);

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::vector<std::filesystem::path>>> allowed_;
  std::set<std::string> notes_allowed_;          // modules that may note no more than that
  std::map<std::string, InputHashes> expected_;  // by module, then file
  std::map<std::string, Held> held_;             // by real path
  std::map<InputReader, Read> read_;
  std::set<InputReader> unchecked_;
  size_t noted_ = 0;
};

}  // namespace quench
