// The program, whose workers end in a call of one's choice: what `bin/quench-dying.plan` beside it
// says in one line.
//
//   list FILE                    appends "kind table function" for each call to FILE
//   kill FILE TABLE FUNCTION     SIGKILL in the first call of that function in any process
//   crash FILE TABLE FUNCTION    the same by SIGSEGV, the plugin's own fault
//
// FILE is there. Whoever dies puts a byte into it first, so that only one does.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/program.hpp"
#include "core/plugin/worker/host_peer.hpp"

namespace {

struct Plan {
  std::string what;
  std::string table;
  std::string function;
  int file = -1;  // opened before the process is confined
};

Plan plan;

void read_plan() {
  std::ifstream in(std::filesystem::read_symlink("/proc/self/exe").string() + ".plan");
  std::string file;
  in >> plan.what >> file >> plan.table >> plan.function;
  plan.file = file.empty() ? -1 : open(file.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
}

void on_call(const char* label, const char* table, const char* function) {
  if (plan.file < 0) {
    return;
  }
  if (plan.what == "list") {
    const std::string line =
        std::string(label, std::strcspn(label, " ")) + " " + table + " " + function + "\n";
    static_cast<void>(!write(plan.file, line.data(), line.size()));
  } else if (plan.table == table && plan.function == function &&
             lseek(plan.file, 0, SEEK_END) == 0 && write(plan.file, "x", 1) == 1) {
    raise(plan.what == "kill" ? SIGKILL : SIGSEGV);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0) {
    read_plan();
    quench::before_served_call = on_call;
  }
  return quench::program_main(argc, argv);
}
