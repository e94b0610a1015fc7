// The parts of a message, for programs. Messages are written for people, in one form: "where: what:
// got X, wanted Y" (CONTRIBUTING.md); this finds the parts again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace quench {

// {"where", "what", "got", "wanted"} of one line; null for what the message does not say. `what` is
// all of it but the place.
nlohmann::json error_parts(std::string_view line);

}  // namespace quench
