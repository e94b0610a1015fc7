#include "formats/dcp/metadata.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "formats/dcp/metadata_values.hpp"
#include "formats/dcp/weight_names.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

// One list of a small pickle can stand in many places; these bound what is made of it.
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxParts = size_t{1} << 18;  // of all weights
constexpr size_t kMaxPartsOfOne = size_t{1} << 14;

using Offsets = std::vector<int64_t>;

// A tensor while its parts are looked for.
struct Sought {
  DcpTensor tensor;
  std::map<Offsets, size_t> by_offset;  // parts that have elements
  std::set<Offsets> empty;              // of parts that have none
};

class Reader {
 public:
  Reader(std::string_view pickle, const std::string& where) : values_(pickle, where) {}

  std::vector<DcpTensor> read() {
    const PickleValue& root = values_.root();
    if (!MetadataValues::is(root, DcpClass::kMetadata)) {
      refuse("holds {}, wanted a Metadata of torch.distributed.checkpoint",
             pickle_kind_name(root.kind));
    }
    read_tensors(values_.attribute(root, "state_dict_metadata", PickleKind::kDict, "Metadata"),
                 values_.attribute(root, "planner_data", "Metadata"));
    place_parts(values_.attribute(root, "storage_data", PickleKind::kDict, "Metadata"));
    std::vector<DcpTensor> out;
    for (Sought& sought : sought_) {
      check(sought);
      out.push_back(std::move(sought.tensor));
    }
    return out;
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", values_.where(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  // The name as it stands in the file.
  std::string_view fqn_of(const PickleValue& key) {
    if (key.kind != PickleKind::kText) {
      refuse("the name of a tensor is {}, wanted a string", pickle_kind_name(key.kind));
    }
    if (first_invalid_utf8(key.text) != std::string_view::npos) {
      refuse("tensor name '{}' is not UTF-8", printable(key.text));
    }
    if (key.text.size() > kMaxName) {
      refuse("tensor name of {} bytes, at most {} are read", key.text.size(), kMaxName);
    }
    return key.text;
  }

  // The keys that led to each name: the planner says them where the state dict was flattened.
  void read_paths(const PickleValue* planner, std::vector<StatePath>& paths) {
    if (planner == nullptr || planner->kind != PickleKind::kDict) {
      return;
    }
    std::unordered_map<std::string_view, PickleId> found;
    for (size_t i = 0; i + 1 < planner->items.size(); i += 2) {
      const PickleValue& key = values_.at(planner->items[i]);
      if (key.kind == PickleKind::kText) {
        found.emplace(key.text, planner->items[i + 1]);
      }
    }
    for (StatePath& path : paths) {
      if (const auto at = found.find(path.fqn); at != found.end()) {
        path.keys = keys_of(values_.at(at->second), path.fqn);
      }
    }
  }

  std::vector<std::string> keys_of(const PickleValue& path, std::string_view fqn) {
    if (path.kind != PickleKind::kTuple || path.items.empty()) {
      refuse("planner_data: the path of '{}' is {}, wanted a tuple of keys", printable(fqn),
             path.items.empty() ? "empty" : pickle_kind_name(path.kind));
    }
    // torch makes the name of the keys, so what differs was not written by it.
    std::vector<std::string> keys;
    std::string joined;
    for (const PickleId id : path.items) {
      const PickleValue& key = values_.at(id);
      if (key.kind != PickleKind::kText && key.kind != PickleKind::kInteger) {
        refuse("planner_data: a key of '{}' is {}, wanted a string or an integer", printable(fqn),
               pickle_kind_name(key.kind));
      }
      keys.push_back(key.kind == PickleKind::kInteger ? std::to_string(key.integer)
                                                      : std::string(key.text.substr(0, kMaxName)));
      joined += (keys.size() > 1 ? "." : "") + keys.back();
      if (joined.size() > fqn.size()) {
        break;
      }
    }
    if (joined != fqn) {
      refuse("planner_data: the path of '{}' leads to '{}'", printable(fqn), printable(joined));
    }
    return keys;
  }

  void read_tensors(const PickleValue& state, const PickleValue* planner) {
    std::vector<StatePath> paths;
    std::vector<const PickleValue*> entries;
    std::set<std::string_view> seen;
    for (size_t i = 0; i + 1 < state.items.size(); i += 2) {
      const std::string_view fqn = fqn_of(values_.at(state.items[i]));
      const PickleValue& entry = values_.at(state.items[i + 1]);
      if (!seen.insert(fqn).second) {
        refuse("two entries are called '{}'", printable(fqn));
      }
      if (MetadataValues::is(entry, DcpClass::kBytesStorage)) {
        continue;  // whatever object was pickled there
      }
      if (!MetadataValues::is(entry, DcpClass::kTensorStorage)) {
        refuse("the entry '{}' is {}, wanted what torch says of a tensor or of bytes",
               printable(fqn), pickle_kind_name(entry.kind));
      }
      paths.push_back({fqn, {std::string(fqn)}});
      entries.push_back(&entry);
    }
    read_paths(planner, paths);
    std::vector<std::string_view> fqns;
    for (const StatePath& path : paths) {
      fqns.push_back(path.fqn);
    }
    const std::vector<std::optional<std::string>> names =
        weight_names(std::move(paths), values_.where());
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i]) {
        by_fqn_.emplace(fqns[i], sought_.size());
        add(*names[i], *entries[i]);
      }
    }
  }

  void add(const std::string& name, const PickleValue& entry) {
    const std::string what = "tensor '" + printable(name) + "'";
    Sought out;
    out.tensor.name = name;
    const PickleValue* properties = values_.attribute(entry, "properties", what);
    out.tensor.dtype = values_.dtype_of(properties != nullptr ? *properties : entry, what);
    const PickleValue* size = values_.attribute(entry, "size", what);
    out.tensor.shape = values_.size_of(size != nullptr ? *size : entry, what + ": its size");
    if (!element_count(out.tensor.shape)) {
      refuse("{}: shape {} overflows", what, shape_text(out.tensor.shape));
    }
    const PickleValue& chunks = values_.attribute(entry, "chunks", PickleKind::kList, what);
    parts_ += chunks.items.size();
    if (chunks.items.size() > kMaxPartsOfOne || parts_ > kMaxParts) {
      refuse("{}: {} parts, at most {} of one tensor and {} of all are read", what,
             chunks.items.size(), kMaxPartsOfOne, kMaxParts);
    }
    for (const PickleId id : chunks.items) {
      add_part(values_.at(id), out, what);
    }
    sought_.push_back(std::move(out));
  }

  void add_part(const PickleValue& chunk, Sought& out, const std::string& what) {
    if (!MetadataValues::is(chunk, DcpClass::kChunk)) {
      refuse("{}: a part is {}, wanted a ChunkStorageMetadata", what, pickle_kind_name(chunk.kind));
    }
    DcpPart part;
    const PickleValue* offsets = values_.attribute(chunk, "offsets", what + ": a part");
    const PickleValue* sizes = values_.attribute(chunk, "sizes", what + ": a part");
    part.box.offset =
        values_.size_of(offsets != nullptr ? *offsets : chunk, what + ": the offsets of a part");
    part.box.size =
        values_.size_of(sizes != nullptr ? *sizes : chunk, what + ": the sizes of a part");
    const size_t dimensions = out.tensor.shape.size();
    if (part.box.offset.size() != dimensions || part.box.size.size() != dimensions) {
      refuse("{}: its part {} has not the dimensions of its shape {}", what, box_text(part.box),
             shape_text(out.tensor.shape));
    }
    const std::optional<uint64_t> elements = element_count(part.box.size);
    if (!elements) {
      refuse("{}: its part {} overflows", what, box_text(part.box));
    }
    if (*elements == 0) {  // of a rank that had nothing of an uneven tensor
      out.empty.insert(part.box.offset);
      return;
    }
    const auto [first, added] = out.by_offset.emplace(part.box.offset, out.tensor.parts.size());
    if (!added) {
      refuse("{}: its parts {} and {} overlap", what, box_text(out.tensor.parts[first->second].box),
             box_text(part.box));
    }
    out.tensor.parts.push_back(std::move(part));
  }

  // Where the parts of the weights lie; entries of anything else are passed over.
  void place_parts(const PickleValue& storage) {
    for (size_t i = 0; i + 1 < storage.items.size(); i += 2) {
      const PickleValue& index = values_.at(storage.items[i]);
      if (!MetadataValues::is(index, DcpClass::kIndex)) {
        refuse("a key of storage_data is {}, wanted a MetadataIndex", pickle_kind_name(index.kind));
      }
      const PickleValue& fqn = values_.attribute(index, "fqn", PickleKind::kText, "MetadataIndex");
      const auto sought = by_fqn_.find(fqn.text);
      if (sought != by_fqn_.end()) {
        place(sought_[sought->second], index, values_.at(storage.items[i + 1]));
      }
    }
  }

  void place(Sought& sought, const PickleValue& index, const PickleValue& info) {
    const std::string what = "tensor '" + printable(sought.tensor.name) + "'";
    const PickleValue* offset = values_.attribute(index, "offset", what);
    const Offsets offsets = values_.size_of(offset != nullptr ? *offset : index,
                                            what + ": the offset of an entry of storage_data");
    const auto found = sought.by_offset.find(offsets);
    if (found == sought.by_offset.end()) {
      if (sought.empty.contains(offsets)) {
        return;
      }
      refuse("{}: storage_data has an entry at {}, where no part of it begins", what,
             shape_text(offsets));
    }
    DcpPart& part = sought.tensor.parts[found->second];
    const std::string whose = what + ": its part " + box_text(part.box);
    if (!part.file.empty()) {
      refuse("{} has two entries in storage_data", whose);
    }
    if (!MetadataValues::is(info, DcpClass::kStorageInfo)) {
      refuse("{}: its entry in storage_data is {}, wanted a _StorageInfo", whose,
             pickle_kind_name(info.kind));
    }
    part.file = values_.attribute(info, "relative_path", PickleKind::kText, whose).text;
    if (part.file.empty() || part.file.size() > 255) {
      refuse("{}: the name of its file has {} bytes, wanted 1 to 255", whose, part.file.size());
    }
    const int64_t first = values_.attribute(info, "offset", PickleKind::kInteger, whose).integer;
    const int64_t bytes = values_.attribute(info, "length", PickleKind::kInteger, whose).integer;
    if (first < 0 || bytes < 0) {
      refuse("{} is {} bytes from byte {} on, wanted no negative numbers", whose, bytes, first);
    }
    part.offset = static_cast<uint64_t>(first);
    part.bytes = static_cast<uint64_t>(bytes);
    const PickleValue* transformed = values_.attribute(info, "transform_descriptors", whose);
    if (transformed != nullptr && !transformed->items.empty()) {
      const PickleValue& by = values_.at(transformed->items[0]);
      fail(QUENCH_UNSUPPORTED,
           "{}: {} was transformed by '{}' as it was written, which is not read", values_.where(),
           whose, printable(by.text));
    }
  }

  void check(const Sought& sought) const {
    const std::string what = "tensor '" + printable(sought.tensor.name) + "'";
    std::vector<Box> boxes;
    for (const DcpPart& part : sought.tensor.parts) {
      boxes.push_back(part.box);
    }
    if (const std::string fault = fault_of_boxes(sought.tensor.shape, boxes); !fault.empty()) {
      refuse("{}: {}", what, fault);
    }
    for (const DcpPart& part : sought.tensor.parts) {
      if (part.file.empty()) {
        refuse("{}: its part {} has no entry in storage_data", what, box_text(part.box));
      }
    }
  }

  MetadataValues values_;
  size_t parts_ = 0;
  std::vector<Sought> sought_;
  std::unordered_map<std::string_view, size_t> by_fqn_;  // into sought_
};

}  // namespace

std::vector<DcpTensor> read_metadata(std::string_view pickle, const std::string& where) {
  return Reader(pickle, where).read();
}

}  // namespace quench::formats
