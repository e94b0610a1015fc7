// A run in small: writes the values of four cells to a run folder and a store, skips what is there.
//
//   record_writer RUN HOME            prints "computed N" and "kept N" around every cell
//   record_writer --dump RUN          what counts: "key index value" a line
//   record_writer --find HOME STEP    the value, or "none"
//   record_writer --forget HOME STEP
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>

#include "core/error.hpp"
#include "core/store/record_file.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/store.hpp"
#include "tests/core/store/sample_records.hpp"

namespace {

using quench::Record;

constexpr int64_t kCells = 4;

void say(const char* what, int64_t step) {
  ::dprintf(STDOUT_FILENO, "%s %d\n", what, static_cast<int>(step));
}

void write_cell(int64_t step, quench::Store& store, quench::RecordFile& file) {
  const std::vector<Record> group = quench::test::sample_group(step, 2);
  if (const auto found = store.find(group[0].key)) {
    file.append(*found);
    say("kept", step);
    return;
  }
  say("computed", step);
  // First the run's own record: what is computed is never lost to a store that cannot be written.
  file.append(group);
  say("kept", step);
  store.publish(group);
}

int write_run(const std::string& run, const std::string& home) {
  quench::Store store(home);
  std::set<std::string> done;
  for (const Record& record : quench::read_run(run).records) {
    done.insert(record.key);
  }
  quench::RecordFile file(run, "0");
  for (int64_t step = 1; step <= kCells; ++step) {
    if (!done.contains(quench::test::sample_group(step, 2)[0].key)) {
      write_cell(step, store, file);
    }
  }
  file.close();
  return 0;
}

int dump(const std::string& run) {
  for (const Record& record : quench::read_run(run).records) {
    std::printf("%s %u %s\n", record.key.c_str(), record.index, record.value.dump().c_str());
  }
  return 0;
}

int find(const std::string& home, int64_t step) {
  const auto found = quench::Store(home).find(quench::test::sample_group(step, 2)[0].key);
  std::printf("%s\n", found ? found->at(1).value.dump().c_str() : "none");
  return 0;
}

int forget(const std::string& home, int64_t step) {
  quench::Store(home).forget(quench::test::sample_group(step, 2)[0].key, "a test");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  try {
    if (first == "--dump" && argc == 3) {
      return dump(argv[2]);
    }
    if (first == "--find" && argc == 4) {
      return find(argv[2], std::stoll(argv[3]));
    }
    if (first == "--forget" && argc == 4) {
      return forget(argv[2], std::stoll(argv[3]));
    }
    return argc == 3 ? write_run(argv[1], argv[2]) : 2;
  } catch (const quench::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
