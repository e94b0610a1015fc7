// The command line's entry.
#include <cstdio>

int main() {
  std::puts("quench 0.1.0");
  return 0;
}
