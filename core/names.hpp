// Lists of names in messages.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace quench {

// "a, b, c and 7 more"
inline std::string first_of_names(const std::vector<std::string>& names, size_t most) {
  const auto shown = std::span(names).first(std::min(names.size(), most));
  const std::string out = printable(fmt::format("{}", fmt::join(shown, ", ")), 4096);
  return names.size() > most ? fmt::format("{} and {} more", out, names.size() - most) : out;
}

// What a misspelt name may have been: "did you mean `b`?", or "there are a, b, c".
inline std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::string near = nearest(word, names);
  return near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                      : fmt::format("did you mean `{}`?", near);
}

}  // namespace quench
