#include "core/train/trained_states.hpp"

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/io/new_folder.hpp"
#include "core/json/parse_json.hpp"
#include "core/train/byte_tokenizer_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxTokenizerBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxNoteBytes = uint64_t{1} << 30;
constexpr const char* kStateFile = "state.safetensors";

std::vector<int64_t> shape_of(const quench_tensor& tensor) {
  return {tensor.shape, tensor.shape + tensor.dimensions};
}

char* bytes_of(const quench_tensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

uint64_t size_of(const quench_tensor& tensor) {
  return element_count(shape_of(tensor)).value_or(0) * dtype_size(tensor.dtype);
}

// The files of a tokenizer under the names that other programs look for.
void write_tokenizer(const fs::path& folder, const std::string& tokenizer) {
  if (tokenizer.empty()) {
    return;
  }
  if (tokenizer == "bytes") {
    write_file_atomically(folder / "tokenizer.json", byte_tokenizer_json());
    return;
  }
  const fs::path path = tokenizer;
  const bool sentencepiece = path.extension() == ".model";
  write_file_atomically(folder / (sentencepiece ? "tokenizer.model" : "tokenizer.json"),
                        read_file(path, kMaxTokenizerBytes));
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    std::error_code error;
    if (fs::exists(path.parent_path() / name, error)) {
      write_file_atomically(folder / name,
                            read_file(path.parent_path() / name, kMaxTokenizerBytes));
    }
  }
}

void commit(NewFolder& folder) {
  try {
    folder.commit();
  } catch (const Error&) {
    std::error_code error;
    if (!fs::is_directory(folder.path(), error)) {  // else another process was faster, with the
      throw;                                        // same bytes
    }
  }
}

// Renamed first, so that no half of it is ever under its name.
void drop(const fs::path& folder) {
  std::error_code ignored;
  const fs::path doomed = folder.parent_path() / ("." + folder.filename().string() + ".dropped");
  fs::rename(folder, doomed, ignored);
  fs::remove_all(doomed, ignored);
}

}  // namespace

bool TrainedStates::has_weights(const std::string& key) const {
  std::error_code error;
  return fs::is_directory(weights_path(key), error);
}

bool TrainedStates::has_state(const std::string& key) const {
  std::error_code error;
  return has_weights(key) && fs::is_directory(optimizer_path(key), error);
}

void TrainedStates::save_weights(const std::string& key, const CheckpointFiles& files,
                                 const std::vector<FlatParameter>& parameters,
                                 std::span<const float> weights) {
  if (has_weights(key)) {
    return;
  }
  make_folders(folder_);
  NewFolder folder(weights_path(key));
  SafetensorsWriter writer(folder.temporary() / "model.safetensors", {{"format", "pt"}});
  for (const FlatParameter& parameter : parameters) {
    writer.declare({parameter.name, kFloat32, parameter.shape, 0});
  }
  for (const FlatParameter& parameter : parameters) {
    writer.write(weights.data() + parameter.offset, parameter.elements * sizeof(float));
  }
  writer.finish();
  write_file_atomically(folder.temporary() / "config.json",
                        parse_json(files.config, "config").dump(2) + "\n");
  write_tokenizer(folder.temporary(), files.tokenizer);
  write_file_atomically(folder.temporary() / kNoteFile, files.note.dump() + "\n");
  commit(folder);
}

void TrainedStates::save_optimizer(
    const std::string& key, const std::vector<std::pair<std::string, quench_tensor>>& tensors) {
  std::error_code error;
  if (fs::is_directory(optimizer_path(key), error)) {
    return;
  }
  make_folders(folder_);
  NewFolder folder(optimizer_path(key));
  SafetensorsWriter writer(folder.temporary() / kStateFile, {{"format", "pt"}});
  for (const auto& [name, view] : tensors) {
    writer.declare({name, view.dtype, shape_of(view), 0});
  }
  for (const auto& [name, view] : tensors) {
    writer.write(bytes_of(view), size_of(view));
  }
  writer.finish();
  commit(folder);
}

void TrainedStates::load_optimizer(
    const std::string& key,
    const std::vector<std::pair<std::string, quench_tensor>>& tensors) const {
  const SafetensorsSource source(optimizer_path(key) / kStateFile);
  if (source.count() != tensors.size()) {
    fail(QUENCH_DATA_LOSS, "{}: has {} tensors, the optimizer {}", source.description(),
         source.count(), tensors.size());
  }
  for (const auto& [name, view] : tensors) {
    const uint64_t index = source.index_of(name);
    const TensorInfo& info = source.info(index);
    if (info.shape != shape_of(view) || !same_dtype(info.dtype, view.dtype)) {
      fail(QUENCH_DATA_LOSS, "{}: {} is {} there, wanted {}", source.description(), printable(name),
           shape_text(info.shape), shape_text(shape_of(view)));
    }
    source.read(index, 0, element_count(info.shape).value_or(0), bytes_of(view));
  }
}

nlohmann::json TrainedStates::note(const std::string& key) const {
  const fs::path path = weights_path(key) / kNoteFile;
  return parse_json(read_file(path, kMaxNoteBytes), path.string());
}

void TrainedStates::save_note(const std::string& key, const nlohmann::json& note) {
  write_file_atomically(weights_path(key) / kNoteFile, note.dump() + "\n");
}

void TrainedStates::drop_optimizer(const std::string& key) {
  drop(optimizer_path(key));
}

void TrainedStates::drop_weights(const std::string& key) {
  drop(weights_path(key));
}

}  // namespace quench
