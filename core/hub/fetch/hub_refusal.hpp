// What a refused request means, and what to do about it.
#pragma once

#include <string>

#include "core/hub/fetch/http.hpp"
#include "core/hub/fetch/hub_access.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

// Throws TryAgain for statuses that pass (408, 429, 5xx; 416, when what is there already does not
// fit), else Error: NOT_FOUND, FAILED_PRECONDITION. Each is one line without the token. `head`: of
// any status but 2xx and redirects; `file`: "" where the repository was asked about.
[[noreturn]] void throw_refusal(const HttpHead& head, const HubAccess& access, const HubSpec& what,
                                const std::string& file);

}  // namespace quench
