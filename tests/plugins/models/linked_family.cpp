// The one family of a program.
#include "tests/plugins/models/linked_family.hpp"

#include "quench/abi/module.h"

namespace quench::test {

const quench_model_table& linked_family(const std::string&) {
  return *static_cast<const quench_model_table*>(quench_module_v1()->items[0]->table);
}

}  // namespace quench::test
