#include "averaging/shared/spacing.hpp"

#include <cstdlib>

#include "quench/kit/error.hpp"

namespace quench::averaging {

namespace {

using Members = std::span<const quench_averaging_member>;

long long number(auto value) {
  return static_cast<long long>(value);
}

std::vector<uint64_t> consecutive(Members members, uint64_t last, uint64_t count) {
  if (last + 1 < count) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "%s: got %lld checkpoint%s up to here, wanted %lld",
              members[last].name, number(last + 1), last == 0 ? "" : "s", number(count));
  }
  std::vector<uint64_t> selected;
  for (uint64_t i = last + 1 - count; i <= last; ++i) {
    selected.push_back(i);
  }
  return selected;
}

}  // namespace

std::optional<uint64_t> find_step(Members members, uint64_t last, int64_t step) {
  for (uint64_t i = last + 1; i-- > 0;) {
    if (members[i].step == step) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<uint64_t> spaced_members(Members members, uint64_t last, uint64_t count,
                                     int64_t every) {
  if (every == 0) {
    return consecutive(members, last, count);
  }
  const int64_t end = members[last].step;
  if (end < 0) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "%s: its step is not known, wanted checkpoints %lld apart", members[last].name,
              number(every));
  }
  std::vector<uint64_t> selected = {last};
  for (uint64_t back = 1; back < count; ++back) {
    int64_t away = 0;
    const bool overflow = __builtin_mul_overflow(every, static_cast<int64_t>(back), &away);
    const auto found =
        overflow || away > end ? std::nullopt : find_step(members, selected[0], end - away);
    if (!found) {
      kit::fail(QUENCH_FAILED_PRECONDITION,
                "%s: no checkpoint %lld steps before it, wanted %lld checkpoints %lld steps apart",
                members[last].name, overflow ? number(INT64_MAX) : number(away), number(count),
                number(every));
    }
    selected.insert(selected.begin(), *found);
  }
  return selected;
}

}  // namespace quench::averaging
