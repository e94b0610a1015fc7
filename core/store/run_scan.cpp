#include "core/store/run_scan.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "core/store/attempt_name.hpp"
#include "core/store/counting.hpp"
#include "core/store/json_members.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestFile = uint64_t{64} << 30;

size_t place_of(std::string_view name) {
  const auto fields = record_fields();
  const auto found = std::lower_bound(
      fields.begin(), fields.end(), name,
      [](const RecordField& field, std::string_view wanted) { return field.name < wanted; });
  return found == fields.end() || found->name != name ? kRecordFields
                                                      : static_cast<size_t>(found - fields.begin());
}

// False if `text` is not empty and not a number that fits the type.
template <typename Integer>
bool read_count(std::string_view text, Integer& out) {
  if (text.empty()) {
    return true;
  }
  const auto read = parse_number<Integer>(text);
  out = read.value_or(out);
  return read.has_value();
}

const std::span<const RecordField> kScannedFields = record_fields();

struct Slot {
  std::string_view text;
  uint64_t line = 0;
  bool cut = false;  // no newline: the last line of the file
  RecordLine record;
  std::string fault;
  uint64_t newer = 0;  // its schema, if that is newer than ours
};

bool is_text(std::string_view value) {
  return value.starts_with('"');
}

// A finite number, or the text of one that JSON cannot express.
bool is_number(std::string_view value) {
  return value == R"("NaN")" || value == R"("Infinity")" || value == R"("-Infinity")" ||
         std::isfinite(parse_number<double>(value).value_or(std::nan("")));
}

bool is_list_of_numbers(std::string_view value) {
  if (!value.starts_with('[') || !value.ends_with(']')) {
    return false;
  }
  value = value.substr(1, value.size() - 2);
  for (bool more = !value.empty(); more;) {
    const size_t comma = value.find(',');
    if (!is_number(value.substr(0, comma))) {
      return false;
    }
    more = comma != std::string_view::npos;
    value.remove_prefix(more ? comma + 1 : value.size());
  }
  return true;
}

// Whether a value is of this type, objects and texts by how they begin.
bool has_form(std::string_view value, FieldType type) {
  const bool null = value == "null";
  switch (type) {
    case FieldType::kText:
      return is_text(value);
    case FieldType::kTextOrNull:
      return is_text(value) || null;
    case FieldType::kCount:
      return parse_number<uint64_t>(value).has_value();
    case FieldType::kInteger:
      return parse_number<int64_t>(value).has_value();
    case FieldType::kCountOrNull:
      return null || parse_number<uint64_t>(value).has_value();
    case FieldType::kNumber:
      return is_number(value);
    case FieldType::kNumberOrNull:
      return null || is_number(value);
    case FieldType::kNumbers:
      return is_list_of_numbers(value);
    case FieldType::kObject:
      return value.starts_with('{');
    case FieldType::kObjectOrNull:
      return value.starts_with('{') || null;
  }
  return false;
}

// A seal is no secret: a line may say anything. What shows and compares records relies on this.
// "value is "three"" of the first field that is not of its type, or "".
std::string odd_field(const RecordLine& record) {
  for (size_t i = 0; i < kRecordFields; ++i) {
    if (!has_form(record.fields[i], kScannedFields[i].type)) {
      return fmt::format("{} is {}", kScannedFields[i].name,
                         record.fields[i].empty() ? "missing" : printable(record.fields[i], 40));
    }
  }
  return "";
}

// Whether checkpoint, quantizer and averaging have the names by which they are shown.
bool has_names(const RecordLine& record) {
  const auto lacks_text = [&](const char* field, const char* member, bool may_be_missing) {
    const std::string_view object = record.field(field);
    const std::string_view value = object == "null" ? object : json_member(object, member);
    return !is_text(value) && object != "null" &&
           !(may_be_missing && (value.empty() || value == "null"));
  };
  return !lacks_text("checkpoint", "model", false) && !lacks_text("checkpoint", "revision", true) &&
         !lacks_text("checkpoint", "branch", true) && !lacks_text("quantizer", "label", false) &&
         !lacks_text("averaging", "label", true);
}

// Points the fields of the slot's record into `body`, or sets `fault`.
void slice(std::string_view body, Slot& slot) {
  RecordLine& record = slot.record;
  record.body = body;
  JsonMembers members(body);
  size_t unknown = 0;
  size_t expected = 0;  // canonical JSON has the fields in the order of the schema
  while (members.next()) {
    const bool next = expected < kRecordFields && kScannedFields[expected].name == members.name();
    const size_t place = next ? expected : place_of(members.name());
    expected = place + 1;
    if (place == kRecordFields || !record.fields[place].empty()) {
      ++unknown;
    } else {
      record.fields[place] = members.value();
    }
  }
  uint64_t schema = 0;
  const bool counts = read_count(record.field("schema"), schema) &&
                      read_count(record.field("index"), record.index) &&
                      read_count(record.field("count"), record.count);
  if (counts && schema > kRecordSchema) {
    slot.newer = schema;
    return;
  }
  record.key = plain_text(record.field("key"));
  record.failed = record.field("error") != "null";
  const bool shaped = counts && schema == kRecordSchema && !members.malformed() && unknown == 0;
  slot.fault = shaped ? odd_field(record) : "";
  if (!shaped || (slot.fault.empty() && (!has_names(record) || record.index >= record.count ||
                                         record.field("key").size() != record.key.size() + 2))) {
    slot.fault = fmt::format("not a record of schema {}", kRecordSchema);
  }
}

void unseal_and_slice(Slot& slot) {
  const Unsealed unsealed = unseal("record", slot.text);
  if (unsealed.fault != nullptr) {
    slot.fault = unsealed.fault;
    return;
  }
  slice(unsealed.body, slot);
}

std::vector<Slot> split(std::string_view content) {
  std::vector<Slot> out;
  uint64_t line = 0;
  while (!content.empty()) {
    const size_t newline = content.find('\n');
    out.emplace_back();
    out.back().text = content.substr(0, newline);
    out.back().line = ++line;
    out.back().cut = newline == std::string_view::npos;
    content.remove_prefix(out.back().cut ? content.size() : newline + 1);
  }
  return out;
}

void scan_file(const fs::path& path, RunScan& out) {
  const auto content = std::make_shared<const std::string>(read_appended_file(path, kLargestFile));
  std::vector<Slot> slots = split(*content);
  tbb::parallel_for(size_t{0}, slots.size(), [&](size_t i) { unseal_and_slice(slots[i]); });
  for (Slot& slot : slots) {
    const auto offset = static_cast<uint64_t>(slot.text.data() - content->data());
    if (slot.newer > 0) {
      fail(QUENCH_FAILED_PRECONDITION,
           "{}:{}: a newer version wrote this record of schema {}; this one reads up to {}",
           path.string(), slot.line, slot.newer, kRecordSchema);
    }
    if (!slot.fault.empty() && slot.cut) {
      out.unfinished.push_back({path, slot.line, offset, "cut short, or still being written"});
      continue;
    }
    if (!slot.fault.empty()) {
      out.damaged.push_back({path, slot.line, offset, slot.fault});
      continue;
    }
    slot.record.file = static_cast<uint32_t>(out.files.size());
    slot.record.line = slot.line;
    slot.record.offset = offset;
    out.lines.push_back(slot.record);
  }
  out.files.push_back(path);
  out.contents.push_back(content);
}

}  // namespace

std::string_view RecordLine::field(std::string_view name) const {
  const size_t place = place_of(name);
  return place == kRecordFields ? std::string_view() : fields[place];
}

RecordLine record_line(std::string_view body) {
  Slot slot;
  slice(body, slot);
  return slot.record;
}

RunScan scan_run(const fs::path& folder) {
  RunScan out;
  for (const AttemptName& attempt : find_attempts(folder, "records", ".jsonl")) {
    scan_file(attempt.path, out);
  }
  decide_what_counts(folder, out);
  return out;
}

}  // namespace quench
