// The built optimizers, by id.
#pragma once

#include <catch2/catch.hpp>
#include <string>

namespace quench::test {

inline std::string library_of(const std::string& id) {
  const std::string list = std::string(OPTIMIZER_PLUGINS) + ":";
  const size_t at = list.find(id + "=");
  REQUIRE(at != std::string::npos);
  const size_t begin = at + id.size() + 1;
  return list.substr(begin, list.find(':', begin) - begin);
}

}  // namespace quench::test
