#include "tests/contract/tensors.hpp"

#include <sstream>

#include "tests/support/plugin_library.hpp"

namespace quench::test {

std::vector<const quench_item*> items_of(const char* libraries, const char* kind) {
  std::vector<const quench_item*> items;
  std::istringstream list(libraries);
  for (std::string library; std::getline(list, library, ':');) {
    items.push_back(&plugin_item(library, kind));
  }
  return items;
}

}  // namespace quench::test
