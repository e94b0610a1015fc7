// What a set of weights is, whatever holds it.
#pragma once

#include <atomic>
#include <string>

namespace quench {

class TensorSource;

// SHA-256 over name, element type, shape and content of every tensor in the order of names. It does
// not depend on container, sharding, order in the file or sharing of storage, so the same weights
// in a .bin and in shards have one hash. Reads every byte. Throws like TensorSource::read, and Error(CANCELLED) when `cancel` is set
// meanwhile.
std::string content_hash(const TensorSource& source, const std::atomic<bool>* cancel = nullptr);

}  // namespace quench
