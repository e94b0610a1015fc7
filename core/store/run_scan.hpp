// The records of a run as its files hold them: verified and classified, hardly parsed.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/record_schema.hpp"
#include "core/store/run_folder.hpp"

namespace quench {

inline constexpr size_t kRecordFields = 23;

// One record whose checksum holds, as the text of its fields.
struct RecordLine {
  std::string_view body;                               // the whole record
  std::array<std::string_view, kRecordFields> fields;  // in the order of record_fields(); may be ""
  uint32_t file = 0;                                   // index into RunScan::files
  uint64_t line = 0;                                   // counts from 1
  uint64_t offset = 0;
  std::string_view key;  // 64 digits, or ""
  uint32_t index = 0;
  uint32_t count = 1;
  bool failed = false;

  // `name` must be one of record_fields().
  std::string_view field(std::string_view name) const;
};

struct RunScan {
  std::vector<std::filesystem::path> files;  // in the order of their attempts
  std::vector<RecordLine> lines;             // all that verify, in the order of the files
  std::vector<size_t> counted;               // indices into lines, ascending
  std::vector<size_t> superseded;            // indices as well
  std::vector<DamagedLine> damaged;
  std::vector<DamagedLine> unfinished;
  std::vector<std::string> conflicts;

  std::vector<std::shared_ptr<const void>> contents;  // the bytes that the views point into
};

// The line of a record that this process has written: `body` is its canonical JSON and must outlive
// the line.
RecordLine record_line(std::string_view body);

// Throws like read_run.
RunScan scan_run(const std::filesystem::path& folder);

}  // namespace quench
