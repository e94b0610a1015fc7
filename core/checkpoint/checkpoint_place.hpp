// A folder of files, or one file of it, as formats see it: names, bounded and checked reads, and
// the tensors that the host reads from it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/checkpoint/abi_source.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "quench/abi/kind/format.h"

namespace quench {

class CheckpointPlace {
 public:
  using OpenTensors = std::function<std::shared_ptr<const TensorSource>()>;

  // A place without any file.
  CheckpointPlace();
  // `path` is a folder or a file. Throws Error: NOT_FOUND when it is not there, and what reading
  // config.json throws.
  explicit CheckpointPlace(const std::filesystem::path& path);
  CheckpointPlace(const CheckpointPlace&) = delete;
  CheckpointPlace& operator=(const CheckpointPlace&) = delete;

  // Valid as long as this object.
  const quench_place* get() const { return &table_; }

  const std::filesystem::path& folder() const { return folder_; }
  // The file that was named, or "".
  const std::string& file() const { return file_; }
  const std::string& config_json() const { return config_json_; }  // "" where there is none
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const;
  // "a, b, c and 7 more", or "no files": also files that no format can name.
  std::string listing() const;

  // Whether config.json, or the file that older writers keep beside it, says that the weights are
  // quantized. Throws Error(INVALID_ARGUMENT) for a config.json that is no JSON.
  bool is_quantized() const;
  // Formats see the place as if it had neither of these files: what reads it then reads a
  // container.
  void hide_config();
  // What the tensors of the place are, asked for once.
  void set_tensors(OpenTensors open) { open_tensors_ = std::move(open); }
  std::shared_ptr<const TensorSource> tensors() const;

  // Forgets which files were asked for, and starts to note them.
  void note_files();
  // Those that were asked for since, in the order of names.
  std::vector<std::filesystem::path> noted_files() const;

 private:
  // The object behind a table.
  static const CheckpointPlace& self(const quench_place* place);
  const File& open(const std::string& name) const;

  std::filesystem::path folder_;
  std::string folder_text_;
  std::string file_;
  std::string config_json_;
  std::vector<std::string> names_;  // ascending
  OpenTensors open_tensors_;
  struct Opened {
    std::unique_ptr<File> file;
    bool noted = false;
  };
  mutable std::mutex mutex_;
  mutable std::map<std::string, Opened> files_;
  mutable std::recursive_mutex tensors_mutex_;
  mutable std::shared_ptr<const TensorSource> tensors_;
  mutable std::unique_ptr<AbiSource> tensors_table_;
  quench_place table_{};
};

}  // namespace quench
