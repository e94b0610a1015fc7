#include "train/trained_states.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/sealed_line.hpp"
#include "train/byte_tokenizer_file.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxTokenizerBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxNoteBytes = uint64_t{1} << 30;
constexpr int kAttempts = 3;  // at writing a folder that other processes write and remove too
constexpr const char* kNoteSeal = "training";
constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kSumsFile = "sums.safetensors";

uint64_t size_of(const TensorInfo& tensor) {
  return element_count(tensor.shape).value_or(0) * dtype_size(tensor.dtype);
}

// Writes the files of a tokenizer under the names that other programs look for.
void write_tokenizer(SealedFolder& folder, const std::string& tokenizer, const std::string& key) {
  const auto write = [&](const char* name, std::string_view content) {
    write_file_atomically(folder.temporary() / name, content, &folder.files());
  };
  if (tokenizer.empty()) {
    return;
  }
  if (tokenizer == "bytes") {
    write("tokenizer.json", byte_tokenizer_json());
    return;
  }
  const fs::path path = tokenizer;
  const bool sentencepiece = path.extension() == ".model";
  const std::string content = read_file(path, kMaxTokenizerBytes);
  if (!key.starts_with(sha256_hex(content))) {
    fail(QUENCH_UNAVAILABLE,
         "{}: the tokenizer was replaced during the training; run the command again", tokenizer);
  }
  write(sentencepiece ? "tokenizer.model" : "tokenizer.json", content);
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    if (exists_at(path.parent_path() / name)) {
      write(name, read_file(path.parent_path() / name, kMaxTokenizerBytes));
    }
  }
}

bool is_number_or_null(const nlohmann::json& value) {
  return value.is_number() || value.is_null();
}

// What is wrong with a note, which may be anybody's, or "". It is asked before one is written and
// after one was read.
std::string fault_of_note(const nlohmann::json& note) {
  const auto is = [&](const char* name, const auto& test) {
    const auto found = note.find(name);
    return found == note.end() || test(*found);
  };
  const auto is_flag = [](const nlohmann::json& value) { return value.is_boolean(); };
  const auto is_count = [](const nlohmann::json& value) { return value.is_number_integer(); };
  const auto is_key = [](const nlohmann::json& value) {  // it becomes a path
    const std::string text = value.is_string() ? value.get<std::string>() : "/";
    return text.find('/') == std::string::npos && !text.starts_with('.');
  };
  const auto is_row = [&](const nlohmann::json& row) {
    return row.is_object() && row.contains("step") && row["step"].is_number_integer() &&
           std::all_of(row.begin(), row.end(), is_number_or_null);
  };
  const auto are_rows = [&](const nlohmann::json& rows) {
    return rows.is_array() && std::all_of(rows.begin(), rows.end(), is_row);
  };
  if (!note.is_object()) {
    return "is no object";
  }
  for (const auto& [name, is_right, wanted] :
       {std::tuple("previous", is("previous", is_key), "the key of a state"),
        std::tuple("rows", is("rows", are_rows), "rows of numbers with their steps"),
        std::tuple("step", is("step", is_count), "a step"),
        std::tuple("keeps_weights", is("keeps_weights", is_flag), "true or false"),
        std::tuple("keeps_optimizer", is("keeps_optimizer", is_flag), "true or false")}) {
    if (!is_right) {
      return fmt::format("{} = {}, wanted {}", name, printable(note[name].dump(), 100), wanted);
    }
  }
  return "";
}

void write_note(const fs::path& folder, const nlohmann::json& note) {
  const fs::path path = folder / kNoteFile;
  if (const std::string fault = fault_of_note(note); !fault.empty()) {
    fail(QUENCH_INTERNAL, "{}: {}", path.string(), fault);
  }
  write_file_atomically(
      path, sealed_file_text(path.string(), kNoteSeal, canonical_json(note), kMaxNoteBytes));
}

nlohmann::json read_note(const fs::path& path) {
  const std::string name = path.string();
  nlohmann::json out = parse_json(read_sealed_file(name, kNoteSeal, kMaxNoteBytes), name);
  if (const std::string fault = fault_of_note(out); !fault.empty()) {
    fail(QUENCH_DATA_LOSS, "{}: {}", name, fault);
  }
  return out;
}

}  // namespace

std::string TrainedStates::fault(const fs::path& folder, Depth depth) const {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() == fs::file_type::not_found) {
    return "";
  }
  std::string fault =
      fault_of_sealed_folder(folder, depth, &HostServices::instance().cancel_flag());
  const bool has_note = folder.parent_path() == folder_ && !folder.has_extension();
  if (!fault.empty() || !has_note) {
    return fault;
  }
  const fs::path note = folder / kNoteFile;
  try {
    if (depth == Depth::kSizes) {
      const File there(note);  // by its name, which another machine may have given it just now
      return "";
    }
    read_note(note);
    return "";
  } catch (const Error& failure) {
    if (failure.code() == QUENCH_FAILED_PRECONDITION) {
      throw;
    }
    return failure.what();
  }
}

std::string TrainedStates::remove_damaged(const fs::path& folder, Depth depth) {
  return quench::remove_damaged(folder, [&] { return fault(folder, depth); });
}

bool TrainedStates::is_whole(const fs::path& folder) const {
  std::error_code error;
  return fs::is_directory(folder, error) && fault(folder, Depth::kSizes).empty();
}

bool TrainedStates::has_weights(const std::string& key) const {
  return is_whole(weights_path(key));
}

bool TrainedStates::has_state(const std::string& key) const {
  return has_weights(key) && is_whole(optimizer_path(key));
}

bool TrainedStates::has_sums(const std::string& average, size_t members) const {
  return is_whole(sums_path(average, members));
}

// `write` fills a folder and lists the files that its seal covers. If another process was faster,
// its bytes are the same and nothing remains to do; if it has removed them again, they are written
// once more.
template <typename Write>
void TrainedStates::publish(const fs::path& path, Write write) {
  for (int attempt = 1; !is_whole(path); ++attempt) {
    make_folders(path.parent_path());
    remove_damaged(path, Depth::kSizes);
    try {
      SealedFolder folder(path, /*replaces=*/false);
      write(folder);
      folder.publish({{"training", path.lexically_relative(folder_).string()}});
      return;
    } catch (const Error& error) {
      if (error.code() != QUENCH_FAILED_PRECONDITION || attempt == kAttempts) {
        throw;
      }
    }
  }
}

void TrainedStates::save_weights(const std::string& key, const CheckpointFiles& files,
                                 const std::vector<FlatParameter>& parameters,
                                 std::span<const float> weights) {
  publish(weights_path(key), [&](SealedFolder& folder) {
    SafetensorsWriter writer(folder.temporary() / "model.safetensors", {{"format", "pt"}},
                             &folder.files());
    for (const FlatParameter& parameter : parameters) {
      writer.declare({parameter.name, kFloat32, parameter.shape, 0});
    }
    for (const FlatParameter& parameter : parameters) {
      writer.write(weights.data() + parameter.offset, parameter.elements * sizeof(float));
    }
    writer.finish();
    write_file_atomically(folder.temporary() / "config.json",
                          parse_json(files.config, "config").dump(2) + "\n", &folder.files());
    write_tokenizer(folder, files.tokenizer, files.tokenizer_key);
    write_note(folder.temporary(), files.note);
  });
}

void TrainedStates::save_optimizer(const std::string& key, const std::vector<TensorInfo>& tensors,
                                   const std::function<void(size_t tensor, void* bytes)>& values) {
  publish(optimizer_path(key), [&](SealedFolder& folder) {
    SafetensorsWriter writer(folder.temporary() / kStateFile, {{"format", "pt"}}, &folder.files());
    for (const TensorInfo& tensor : tensors) {
      writer.declare({tensor.name, tensor.dtype, tensor.shape, 0});
    }
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < tensors.size(); ++i) {
      bytes.resize(size_of(tensors[i]));
      values(i, bytes.data());
      writer.write(bytes.data(), bytes.size());
    }
    writer.finish();
  });
}

void TrainedStates::save_sums(const std::string& average, size_t members,
                              const std::vector<uint64_t>& sizes,
                              const std::function<std::vector<double>(size_t)>& sums) {
  publish(sums_path(average, members), [&](SealedFolder& folder) {
    SafetensorsWriter writer(folder.temporary() / kSumsFile, {}, &folder.files());
    for (size_t chunk = 0; chunk < sizes.size(); ++chunk) {
      writer.declare({std::to_string(chunk), kFloat64, {static_cast<int64_t>(sizes[chunk])}, 0});
    }
    for (size_t chunk = 0; chunk < sizes.size(); ++chunk) {
      const std::vector<double> values = sums(chunk);
      writer.write(values.data(), values.size() * sizeof(double));
    }
    writer.finish();
  });
}

void TrainedStates::load_sums(
    const std::string& average, size_t members,
    const std::function<void(size_t, std::span<const double>)>& take) const {
  const SafetensorsSource source(sums_path(average, members) / kSumsFile);
  std::vector<double> values;
  for (size_t chunk = 0; chunk < source.count(); ++chunk) {
    const uint64_t index = source.index_of(std::to_string(chunk));
    values.resize(element_count(source.info(index).shape).value_or(0));
    source.read(index, 0, values.size(), values.data());
    take(chunk, values);
  }
}

void TrainedStates::load_optimizer(
    const std::string& key, const std::vector<TensorInfo>& tensors,
    const std::function<void(size_t tensor, const void* bytes)>& take) const {
  const SafetensorsSource source(optimizer_path(key) / kStateFile);
  if (source.count() != tensors.size()) {
    fail(QUENCH_DATA_LOSS, "{}: has {} tensors, the optimizer has {}", source.description(),
         source.count(), tensors.size());
  }
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& wanted = tensors[i];
    const uint64_t index = source.index_of(wanted.name);
    const TensorInfo& info = source.info(index);
    if (info.shape != wanted.shape || !same_dtype(info.dtype, wanted.dtype)) {
      fail(QUENCH_DATA_LOSS, "{}: tensor {} is {}, wanted {}", source.description(),
           printable(wanted.name), shape_text(info.shape), shape_text(wanted.shape));
    }
    bytes.resize(size_of(info));
    source.read(index, 0, element_count(info.shape).value_or(0), bytes.data());
    take(i, bytes.data());
  }
}

nlohmann::json TrainedStates::note(const std::string& key) const {
  return read_note(weights_path(key) / kNoteFile);
}

void TrainedStates::save_note(const std::string& key, const nlohmann::json& note) {
  write_note(weights_path(key), note);
}

void TrainedStates::drop_optimizer(const std::string& key) {
  remove_folder(optimizer_path(key));
}

void TrainedStates::drop_weights(const std::string& key) {
  remove_folder(weights_path(key));
}

void TrainedStates::drop_sums(const std::string& average, const std::set<size_t>& kept) {
  const fs::path folder = sums_path(average, 0).parent_path();
  if (kept.empty()) {
    remove_folder(folder);
    return;
  }
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    const bool is_kept = std::any_of(
        kept.begin(), kept.end(), [&](size_t members) { return name == std::to_string(members); });
    if (!is_kept && !name.starts_with('.')) {
      remove_folder(it->path());
    }
  }
}

}  // namespace quench
