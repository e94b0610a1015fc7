// Names of tensors without what wrappers of torch put into them.
#pragma once

#include <span>
#include <string>

namespace quench::formats {

// Takes out "module." of DistributedDataParallel in front of all of them, "_orig_mod." of
// torch.compile wherever it stands, in any order and number. Throws Error(INVALID_ARGUMENT), whose
// message begins with `where`, if two become the same.
void unwrap_names(std::span<std::string* const> names, const std::string& where);

}  // namespace quench::formats
