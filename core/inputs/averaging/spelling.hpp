// Members of an average whose files name the same parameters differently: with and without the
// names' first part, a tied tensor under one name or both, with buffers that no family reads.
#pragma once

#include <string>
#include <vector>

#include "core/inputs/averaging/average_source.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

// Where the members' names differ, replaces their sources by ones that have each parameter once,
// under the name that the family of this config gives it. A tensor that is no parameter and that
// only some members have is lent to the others, so that the family passes it over, or refuses it,
// as it does in those members. Changes nothing where the names agree, and where the family cannot
// say them without weights. `family` may be empty; `where` is the config's path. Throws
// Error(INVALID_ARGUMENT) for two names of a tied tensor with different values in one member.
void spell_alike(Catalog& catalog, const std::string& config_json, const std::string& where,
                 const std::string& family, std::vector<AverageMember>& members);

}  // namespace quench
