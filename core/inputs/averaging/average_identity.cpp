#include "core/inputs/averaging/average_identity.hpp"

#include <bit>

#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/checkpoint/dtype.hpp"

namespace quench {

namespace {

void update_text(Sha256& hash, const std::string& text) {
  hash.update_number(text.size());
  hash.update(text);
}

}  // namespace

std::string average_identity(const AveragingCell& averaging,
                             const std::vector<AverageMember>& members,
                             const std::vector<std::string>& member_hashes, quench_dtype dtype,
                             const std::vector<double>& weights) {
  Sha256 hash;
  update_text(hash, "quench average 2");
  update_text(hash, averaging.plugin->id);
  update_text(hash, canonical_json(averaging.plugin->code));
  update_text(hash, canonical_json(averaging.parameters));
  update_text(hash, dtype_name(dtype));
  hash.update_number(member_hashes.size());
  for (const std::string& member : member_hashes) {
    update_text(hash, member);
  }
  for (const size_t rank : canonical_order(members)) {
    hash.update_number(rank);
  }
  hash.update_number(weights.size());
  for (const double weight : weights) {
    hash.update_number(std::bit_cast<uint64_t>(weight));
  }
  return hash.hex_digest();
}

}  // namespace quench
