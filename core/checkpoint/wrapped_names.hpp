// Names of tensors without what wrappers of torch put into them.
#pragma once

#include <string>
#include <vector>

namespace quench {

// Takes out "_orig_mod." of torch.compile wherever a part of a name begins with it, and "module."
// of DistributedDataParallel where all names begin with it, in any order and number. The names stay
// in their places; two may become the same.
void unwrap_names(std::vector<std::string>& names);

}  // namespace quench
