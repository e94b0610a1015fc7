// Records, a line each, that somebody has sealed whatever they say: what counts is a record that is
// read whole and from which values are derived; all else is named as damaged, or an Error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "core/store/record.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const quench::test::TemporaryDir folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t lines = 0;
  {
    std::ofstream out(folder.path() / "records-0-0001-00000000.jsonl", std::ios::binary);
    for (size_t begin = 0; begin < text.size(); ++lines) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      out << quench::seal("record", text.substr(begin, end - begin)) << '\n';
      begin = end + 1;
    }
  }
  try {
    quench::RunScan scan = quench::scan_run(folder.path());
    if (scan.counted.size() > lines) {
      std::abort();
    }
    for (const size_t i : scan.counted) {
      quench::record_from_json(quench::parse_json(scan.lines[i].body, "fuzz"), "fuzz");
    }
    quench::add_derived(scan);
  } catch (const quench::Error&) {
  }
  return 0;
}
