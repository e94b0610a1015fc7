#include "core/checkpoint/checkpoint_place.hpp"
#include "core/base/io/passing_fault.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/sharded_source.hpp"
#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kOlderConfig = "quantize_config.json";
constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

// `readable`: only those whose names formats may ask for.
std::vector<std::string> files_in(const fs::path& folder, bool readable) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code unknown;
    std::string name = it->path().filename().string();
    if (it->is_regular_file(unknown) && (!readable || is_plain_file_name(name))) {
      names.push_back(std::move(name));
    }
  }
  if (error) {
    fail(status_of_fault(error.value(), QUENCH_FAILED_PRECONDITION), "{}: cannot be listed: {}",
         folder.string(), error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

const CheckpointPlace& CheckpointPlace::self(const quench_place* place) {
  return *static_cast<const CheckpointPlace*>(place->context);
}

CheckpointPlace::CheckpointPlace() {
  table_.struct_size = sizeof table_;
  table_.context = this;
  table_.path = "";
  table_.config_json = "";
  table_.count = [](const quench_place* place) noexcept -> uint64_t {
    return self(place).names_.size();
  };
  table_.name = [](const quench_place* place, uint64_t index) noexcept -> const char* {
    const std::vector<std::string>& names = self(place).names_;
    return index < names.size() ? names[index].c_str() : nullptr;
  };
  table_.size = [](const quench_place* place, const char* name, uint64_t* bytes,
                   quench_error* error) noexcept {
    return guarded(error, [&] { *bytes = self(place).open(name).size(); });
  };
  table_.read = [](const quench_place* place, const char* name, uint64_t offset, uint64_t bytes,
                   void* destination, quench_error* error) noexcept {
    return guarded(error, [&] { self(place).open(name).read(offset, destination, bytes); });
  };
  table_.tensors = [](const quench_place* place, const quench_source** source,
                      quench_error* error) noexcept {
    return guarded(error, [&] {
      const CheckpointPlace& asked = self(place);
      const std::lock_guard lock(asked.tensors_mutex_);
      if (!asked.tensors_table_) {
        asked.tensors_table_ = std::make_unique<AbiSource>(asked.tensors());
      }
      *source = asked.tensors_table_->get();
    });
  };
}

CheckpointPlace::CheckpointPlace(const fs::path& path) : CheckpointPlace() {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::status_known(status)) {  // of a file system that fails, whatever is there
    fail(status_of_fault(error.value(), QUENCH_FAILED_PRECONDITION), "{}: cannot be looked at: {}",
         printable(path.string(), 4096), error.message());
  }
  if (!fs::exists(status)) {
    fail(QUENCH_NOT_FOUND, "{}: no such checkpoint file or folder", printable(path.string(), 4096));
  }
  const bool is_folder = fs::is_directory(status);
  folder_ = is_folder ? path : path.has_parent_path() ? path.parent_path() : fs::path(".");
  folder_text_ = folder_.string();
  file_ = is_folder ? "" : path.filename().string();
  names_ = files_in(folder_, true);
  if (has(kConfig)) {
    config_json_ = read_file(folder_ / kConfig, kMaxConfigBytes);
  }
  table_.path = folder_text_.c_str();
  table_.file = is_folder ? nullptr : file_.c_str();
  table_.config_json = config_json_.c_str();
  table_.config_bytes = config_json_.size();
}

bool CheckpointPlace::has(const std::string& name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

std::string CheckpointPlace::listing() const {
  constexpr size_t kShown = 8;
  const std::vector<std::string> names = files_in(folder_, false);
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  if (names.size() > kShown) {
    out += fmt::format(" and {} more", names.size() - kShown);
  }
  return names.empty() ? "no files" : out;
}

bool CheckpointPlace::is_quantized() const {
  if (has(kOlderConfig)) {
    return true;
  }
  if (config_json_.empty()) {
    return false;
  }
  const nlohmann::json config = parse_json(config_json_, (folder_ / kConfig).string());
  const auto found = config.is_object() ? config.find("quantization_config") : config.end();
  return found != config.end() && !found->is_null();
}

void CheckpointPlace::hide_config() {
  std::erase_if(names_,
                [](const std::string& name) { return name == kConfig || name == kOlderConfig; });
  table_.config_json = "";
  table_.config_bytes = 0;
}

std::shared_ptr<const TensorSource> CheckpointPlace::tensors() const {
  const std::lock_guard lock(tensors_mutex_);
  if (!tensors_) {
    if (!open_tensors_) {
      fail(QUENCH_NOT_FOUND, "{}: has no tensors that are read without its format",
           folder_.string());
    }
    tensors_ = open_tensors_();
  }
  return tensors_;
}

const File& CheckpointPlace::open(const std::string& name) const {
  if (!is_plain_file_name(name)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: '{}' is no plain name of a file in this folder",
         folder_.string(), printable(name));
  }
  if (!has(name)) {
    fail(QUENCH_NOT_FOUND, "{}: has no file '{}'", folder_.string(), printable(name));
  }
  const std::lock_guard lock(mutex_);
  Opened& entry = files_[name];
  if (!entry.file) {
    entry.file = std::make_unique<File>(folder_ / name);
  }
  entry.noted = true;
  return *entry.file;
}

void CheckpointPlace::note_files() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, entry] : files_) {
    entry.noted = false;
  }
}

std::vector<fs::path> CheckpointPlace::noted_files() const {
  const std::lock_guard lock(mutex_);
  std::vector<fs::path> out;
  for (const auto& [name, entry] : files_) {
    if (entry.noted) {
      out.push_back(folder_ / name);
    }
  }
  return out;
}

}  // namespace quench
