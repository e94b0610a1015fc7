// Compares before it shows: CHECK(differences(got, wanted) == "") says where two long sequences
// part, where CHECK(got == wanted) would print both.
#pragma once

#include <catch2/catch.hpp>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace quench::test {

// "" when equal; else how many elements differ and the first few of them: index, got, wanted.
// Elements are compared with ==, so a NaN differs from itself.
template <typename Got, typename Wanted>
requires(!std::is_convertible_v<const Got&, std::string_view>) std::string
    differences(const Got& got, const Wanted& wanted) {
  constexpr size_t kShown = 5;
  std::string first;
  size_t differing = 0;
  size_t index = 0;
  auto theirs = std::begin(wanted);
  for (auto ours = std::begin(got); ours != std::end(got) && theirs != std::end(wanted);
       ++ours, ++theirs, ++index) {
    if (!(*ours == *theirs) && ++differing <= kShown) {
      first += (first.empty() ? "" : "; ") + ("[" + std::to_string(index)) + "] got " +
               Catch::Detail::stringify(*ours) + ", wanted " + Catch::Detail::stringify(*theirs);
    }
  }
  const auto got_size = static_cast<size_t>(std::distance(std::begin(got), std::end(got)));
  const auto wanted_size = static_cast<size_t>(std::distance(std::begin(wanted), std::end(wanted)));
  std::string out;
  if (got_size != wanted_size) {
    out = "got " + std::to_string(got_size) + " elements, wanted " + std::to_string(wanted_size);
  }
  if (differing > 0) {
    out += (out.empty() ? "" : "; ") + std::to_string(differing) + " of " + std::to_string(index) +
           " differ: " + first + (differing > kShown ? "; ..." : "");
  }
  return out;
}

// Of texts: the line and what both have from the first byte that differs.
std::string differences(std::string_view got, std::string_view wanted);

}  // namespace quench::test
