#include "metrics/curvature/rows.hpp"

#include "quench/kit/error.hpp"

namespace quench::curvature {

std::vector<Row> rows_of(const quench_tokens& tokens, uint64_t length, uint64_t limit,
                         uint64_t stride) {
  std::vector<Row> rows;
  const uint64_t ids = tokens.offsets[tokens.documents];
  const uint64_t count = length == 0 ? tokens.documents : ids / length;
  for (uint64_t i = 0; i < count && (limit == 0 || rows.size() < limit); i += stride) {
    const uint64_t first = length == 0 ? tokens.offsets[i] : i * length;
    const uint64_t end = length == 0 ? tokens.offsets[i + 1] : first + length;
    if (end - first >= 2) {
      rows.emplace_back(tokens.ids + first, end - first);
    }
  }
  if (rows.empty()) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "corpus `%s` of %llu ids in %llu documents has no sequence of %llu ids",
              tokens.corpus, static_cast<unsigned long long>(ids),
              static_cast<unsigned long long>(tokens.documents),
              static_cast<unsigned long long>(length == 0 ? 2 : length));
  }
  return rows;
}

std::vector<std::vector<Row>> disjoint_sets(const std::vector<Row>& rows, uint64_t sets) {
  if (rows.size() < sets) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "got %zu sequences for %llu disjoint sets", rows.size(),
              static_cast<unsigned long long>(sets));
  }
  const uint64_t each = rows.size() / sets;
  std::vector<std::vector<Row>> out;
  for (uint64_t s = 0; s < sets; ++s) {
    const auto first = rows.begin() + static_cast<int64_t>(s * each);
    out.emplace_back(first, first + static_cast<int64_t>(each));
  }
  return out;
}

}  // namespace quench::curvature
