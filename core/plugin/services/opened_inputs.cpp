#include "core/plugin/services/opened_inputs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/catalog/foreign_code.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kPiece = 1u << 20;  // bytes that have a checksum

// The instance whose call into its plugin this thread serves.
InputReader reader_at_work(const std::string& module, bool of_module) {
  const CallFrame* call = innermost_call;
  if (of_module || call == nullptr || call->plugin == nullptr) {
    return {module};
  }
  const char* parameters = call->place.parameters;
  return {module, call->plugin, parameters == nullptr ? "" : parameters};
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

[[noreturn]] void fail_changed(const std::string& file, const char* since, const std::string& was,
                               const std::string& is) {
  fail(QUENCH_UNAVAILABLE,
       "{}: not the bytes that {} (sha256 {} then, {} now); run the command again; if it says so "
       "again, the bytes change while the file's times do not: get the file anew, or measure it as "
       "it is with --fresh",
       file, since, was.substr(0, 12), is.substr(0, 12));
}

// Those whose reading counts for it.
std::array<InputReader, 3> including(const InputReader& reader) {
  return {InputReader{reader.module}, InputReader{reader.module, reader.label}, reader};
}

FileIdentity identity_of(const fs::path& file) {
  return exists_at(file) ? File(file).identity() : FileIdentity();
}

// Of a name that a plugin gives.
fs::path real_path(const std::string& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  if (error || path.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", printable(path, 4096),
         error ? error.message() : "names no file");
  }
  return real;
}

}  // namespace

std::string input_file_hash(const fs::path& file) {
  return is_file_at(file) ? sha256_of(File(file)) : kAbsentInput;
}

std::string input_variable_hash(const std::string& name) {
  // Of those that a plugin sees: of a secret nothing is told, not even its hash.
  for (const std::string& entry : foreign_environment()) {
    if (entry.starts_with(name + "=")) {
      return sha256_hex(std::string_view(entry).substr(name.size() + 1));
    }
  }
  return kAbsentInput;
}

OpenedInputs& OpenedInputs::instance() {
  static auto* inputs = new OpenedInputs;  // outlives static destructors, plugins' included
  return *inputs;
}

void OpenedInputs::allow(const std::string& module, const std::vector<fs::path>& folders,
                         Notes notes) {
  const std::lock_guard lock(mutex_);
  if (notes == Notes::kAllowed) {
    notes_allowed_.insert(module);
  }
  auto& lists = allowed_[module];
  if (std::find(lists.begin(), lists.end(), folders) == lists.end()) {
    lists.push_back(folders);
  }
}

void OpenedInputs::expect(const std::string& module, const fs::path& file,
                          const std::string& sha256) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  const std::lock_guard lock(mutex_);
  expected_[module][real.string()] = sha256;
}

fs::path OpenedInputs::locate(const std::string& module, const std::string& path) const {
  fs::path real = real_path(path);
  // Another module may have the same name: all of them must be allowed.
  const auto lists = allowed_.find(module);
  if (lists != allowed_.end() &&
      !std::all_of(lists->second.begin(), lists->second.end(), [&](const auto& folders) {
        return std::any_of(folders.begin(), folders.end(),
                           [&](const fs::path& folder) { return lies_in(real, folder); });
      })) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: the sandbox of this plugin has only its own folder; a parameter of type path lets it "
         "read others",
         printable(path, 4096));
  }
  return real;
}

const OpenedInputs::Held& OpenedInputs::hold(const std::string& module, const fs::path& file,
                                             bool with_pieces) {
  const auto [entry, added] = held_.try_emplace(file.string());
  Held& held = entry->second;
  if (added || (with_pieces && held.pieces.empty())) {
    try {
      if (added && ++noted_ > kMaxOpenedInputs) {
        fail(QUENCH_RESOURCE_EXHAUSTED, "{}: more than {} files and variables were read",
             file.string(), kMaxOpenedInputs);
      }
      if (!with_pieces && !exists_at(file)) {
        held.sha256 = kAbsentInput;
      } else {
        const File source(file);
        Sha256 whole;
        std::vector<uint64_t> pieces;
        std::string bytes;
        for (uint64_t at = 0; at < source.size(); at += bytes.size()) {
          bytes.resize(std::min(kPiece, source.size() - at));
          source.read(at, bytes.data(), bytes.size());
          whole.update(bytes);
          pieces.push_back(sha256_head(bytes));
        }
        const std::string sha256 = whole.hex_digest();
        if (!added && sha256 != held.sha256) {
          fail_changed(file.string(), "were read before", held.sha256, sha256);
        }
        held = {source.identity(), sha256, std::move(pieces)};
      }
    } catch (...) {
      if (added) {
        held_.erase(entry);
      }
      throw;
    }
  }
  const auto expected = expected_.find(module);
  if (expected != expected_.end()) {
    if (const auto wanted = expected->second.find(file.string());
        wanted != expected->second.end() && wanted->second != held.sha256) {
      fail_changed(file.string(), "were hashed for the keys", wanted->second, held.sha256);
    }
  }
  return held;
}

void OpenedInputs::add(const std::string& module, const std::string& file, bool of_module) {
  read_[reader_at_work(module, of_module)].files.insert(file);
}

OpenedInputs::Opened OpenedInputs::open(const std::string& module, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const fs::path file = locate(module, path);
  const Held& held = hold(module, file, /*with_pieces=*/true);
  add(module, file.string(), false);
  return {held.identity.size, held.sha256};
}

void OpenedInputs::read(const std::string& module, const std::string& path, uint64_t offset,
                        uint64_t bytes, void* destination) {
  std::vector<uint64_t> pieces;
  uint64_t size = 0;
  fs::path file;
  {
    const std::lock_guard lock(mutex_);
    file = locate(module, path);
    const auto held = held_.find(file.string());
    if (held == held_.end()) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: is read before it is opened", file.string());
    }
    pieces = held->second.pieces;
    size = held->second.identity.size;
  }
  if (offset > size || bytes > size - offset) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: bytes {} to {} are wanted of {}", file.string(), offset,
         offset + bytes, size);
  }
  const File source(file);
  auto* out = static_cast<char*>(destination);
  std::string piece;
  for (const uint64_t end = offset + bytes; offset < end;) {
    const uint64_t number = offset / kPiece;
    const uint64_t begin = number * kPiece;
    piece.resize(std::min(kPiece, size - begin));
    if (source.read_present(begin, piece.data(), piece.size()) != piece.size() ||
        sha256_head(piece) != pieces.at(number)) {
      fail_changed(file.string(), "were hashed when it was opened",
                   fmt::format("{:016x}", pieces.at(number)),
                   fmt::format("{:016x}", sha256_head(piece)));
    }
    const uint64_t count = std::min(end, begin + piece.size()) - offset;
    std::memcpy(out, piece.data() + (offset - begin), count);
    out += count;
    offset += count;
  }
}

void OpenedInputs::note(const std::string& module, const std::string& path, bool of_module) {
  const std::lock_guard lock(mutex_);
  const fs::path file = notes_allowed_.contains(module) ? locate(module, path) : real_path(path);
  if (exists_at(file) && !is_file_at(file)) {
    return;  // a folder, a pipe, a device: there is no content to compare
  }
  hold(module, file, /*with_pieces=*/false);
  add(module, file.string(), of_module);
}

void OpenedInputs::note_variable(const std::string& module, const std::string& name,
                                 bool of_module) {
  const std::lock_guard lock(mutex_);
  InputHashes& variables = read_[reader_at_work(module, of_module)].variables;
  if (variables.try_emplace(name, input_variable_hash(name)).second &&
      ++noted_ > kMaxOpenedInputs) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: more than {} files and variables were read",
         printable(name), kMaxOpenedInputs);
  }
}

ReadInputs OpenedInputs::of(const InputReader& reader) const {
  const std::lock_guard lock(mutex_);
  ReadInputs out;
  for (const InputReader& each : including(reader)) {
    const auto read = read_.find(each);
    if (read == read_.end()) {
      continue;
    }
    for (const std::string& file : read->second.files) {
      const Held& held = held_.at(file);
      if (identity_of(file) != held.identity) {
        fail(QUENCH_UNAVAILABLE,
             "{}: {} changed after it was read (sha256 {} then, {} now, with other times); run the "
             "command again",
             reader.label, file, held.sha256.substr(0, 12), input_file_hash(file).substr(0, 12));
      }
      out.files[file] = held.sha256;
    }
    out.variables.insert(read->second.variables.begin(), read->second.variables.end());
  }
  return out;
}

bool OpenedInputs::has_opened(const InputReader& reader,
                              const std::vector<fs::path>& places) const {
  const std::lock_guard lock(mutex_);
  return std::all_of(places.begin(), places.end(), [&](const fs::path& place) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(place, error);
    const std::array<InputReader, 3> readers = including(reader);
    return std::any_of(readers.begin(), readers.end(), [&](const InputReader& each) {
      const auto read = read_.find(each);
      return read != read_.end() &&
             std::any_of(read->second.files.begin(), read->second.files.end(),
                         [&](const std::string& file) { return lies_in(file, real); });
    });
  });
}

void OpenedInputs::mark_unchecked(const InputReader& reader) {
  const std::lock_guard lock(mutex_);
  unchecked_.insert(reader);
}

bool OpenedInputs::is_unchecked(const InputReader& reader) const {
  const std::lock_guard lock(mutex_);
  return unchecked_.contains(reader);
}

}  // namespace quench
