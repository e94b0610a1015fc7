#include "cli/program.hpp"

int main(int argc, char** argv) {
  return quench::program_main(argc, argv);
}
