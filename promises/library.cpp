#include "promises/library.hpp"

extern "C" __attribute__((visibility("default"))) const quench::promises::Library*
quench_promises() {
  static const quench::promises::Library library{quench::promises::promises_of,
                                                 quench::promises::try_promise};
  return &library;
}
