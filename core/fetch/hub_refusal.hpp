// What a refused request means, and what to do about it.
#pragma once

#include <string>

#include "core/fetch/http.hpp"
#include "core/fetch/hub_access.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

struct HubRefusal {
  const HttpHead& head;  // any status but 2xx and redirects
  const HubAccess& access;
  const HubSpec& what;
  std::string file;  // "" where the repository was asked about
};

// Throws TryAgain for statuses that pass (408, 429, 5xx; 416, when what is there already does not
// fit), else Error: NOT_FOUND, FAILED_PRECONDITION. Each is one line without the token.
[[noreturn]] void throw_refusal(const HubRefusal& refusal);

}  // namespace quench
