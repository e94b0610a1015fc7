#include "core/store/run_folder.hpp"

#include <tbb/parallel_for.h>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

namespace {

// The record of a line, or why it is invalid although its checksum holds.
struct Parsed {
  Record record;
  std::string fault;
};

std::vector<Parsed> parse_lines(const RunScan& scan, const std::vector<size_t>& indices) {
  std::vector<Parsed> out(indices.size());
  tbb::parallel_for(size_t{0}, indices.size(), [&](size_t i) {
    const RecordLine& line = scan.lines[indices[i]];
    const std::string where = fmt::format("{}:{}", scan.files[line.file].string(), line.line);
    try {
      out[i].record = record_from_json(parse_json(line.body, where), where);
    } catch (const Error& error) {
      out[i].fault = error.what();
    }
  });
  return out;
}

}  // namespace

RunRecords read_run(const std::filesystem::path& folder) {
  RunScan scan = scan_run(folder);
  RunRecords out;
  out.damaged = std::move(scan.damaged);
  out.unfinished = std::move(scan.unfinished);
  out.conflicts = std::move(scan.conflicts);
  for (const auto& [indices, records] :
       {std::pair(&scan.counted, &out.records), std::pair(&scan.superseded, &out.superseded)}) {
    std::vector<Parsed> parsed = parse_lines(scan, *indices);
    for (size_t i = 0; i < parsed.size(); ++i) {
      const RecordLine& line = scan.lines[(*indices)[i]];
      if (parsed[i].fault.empty()) {
        records->push_back(std::move(parsed[i].record));
      } else {
        out.damaged.push_back(
            {scan.files[line.file], line.line, line.offset, std::move(parsed[i].fault)});
      }
    }
  }
  return out;
}

}  // namespace quench
