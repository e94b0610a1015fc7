// An averaging scheme as a C++ class. Derive Averaging (and ResumableSums), end with QUENCH_MODULE.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "quench/abi/kind/averaging.h"
#include "quench/kit/module.hpp"

namespace quench::kit {

class Averaging {
 public:
  virtual ~Averaging() = default;
  virtual uint32_t needs() const { return 0; }
  // Ascending indices of the members of the average that ends at members[last]; throws
  // FAILED_PRECONDITION with the reason if there is none.
  virtual std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                                       uint64_t last) = 0;
  virtual void begin(std::span<const quench_averaging_member> members) = 0;
  virtual void accumulate(uint64_t member, std::span<const double> values) = 0;
  virtual void finish(std::span<double> values) = 0;
};

// A second base class for schemes that export and restore the sums of a chunk between two members,
// so that an interrupted training continues its averages.
class ResumableSums {
 public:
  virtual ~ResumableSums() = default;
  // Everything that the rest of the chunk depends on besides the parameters and the members of
  // begin; valid until the next call. Throws FAILED_PRECONDITION if no chunk is being summed.
  virtual std::span<const double> sums() const = 0;
  // After begin: restores the chunk of `chunk` values to its state after `members` members, when
  // sums() returned `sums`. Throws INVALID_ARGUMENT for values that sums() cannot have returned.
  virtual void resume(uint64_t members, uint64_t chunk, std::span<const double> sums) = 0;
};

// A scheme that chooses its members by their score.
class SearchingAveraging : public Averaging {
 public:
  // The score of the average with these weights (one per member, 0: left out); lower is better.
  using Score = std::function<double(std::span<const double> weights)>;
  // One weight per member, 0 for members that are left out.
  virtual std::vector<double> search(std::span<const quench_averaging_member> members,
                                     const Score& score) = 0;
  // Like begin; no weight is 0.
  virtual void begin_weighted(std::span<const quench_averaging_member> members,
                              std::span<const double> weights) = 0;
};

namespace detail {

inline Averaging& self(quench_averaging* averaging) {
  return *reinterpret_cast<Averaging*>(averaging);
}
template <typename Plugin>
quench_status create_averaging(const char* json, uint64_t bytes, quench_averaging** out,
                               quench_error* error) noexcept {
  return guard(error, [&] {
    Averaging* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_averaging*>(made);
  });
}
inline void destroy_averaging(quench_averaging* averaging) noexcept {
  delete &self(averaging);
}
inline uint32_t averaging_needs(const quench_averaging* averaging) noexcept {
  return reinterpret_cast<const Averaging*>(averaging)->needs();
}
inline quench_status select_members(quench_averaging* averaging,
                                    const quench_averaging_member* members, uint64_t count,
                                    uint64_t last, uint64_t* selected, uint64_t* selected_count,
                                    quench_error* error) noexcept {
  return guard(error, [&] {
    expects(last < count, "last: no such member");
    const std::vector<uint64_t> chosen = self(averaging).select({members, count}, last);
    expects(chosen.size() <= count, "select: more members than there are");
    std::copy(chosen.begin(), chosen.end(), selected);
    *selected_count = chosen.size();
  });
}
inline quench_status begin_average(quench_averaging* averaging,
                                   const quench_averaging_member* members, uint64_t count,
                                   quench_error* error) noexcept {
  return guard(error, [&] { self(averaging).begin({members, count}); });
}
inline quench_status accumulate_chunk(quench_averaging* averaging, uint64_t member,
                                      const double* values, uint64_t count,
                                      quench_error* error) noexcept {
  return guard(error, [&] { self(averaging).accumulate(member, {values, count}); });
}
inline quench_status finish_chunk(quench_averaging* averaging, double* values, uint64_t count,
                                  quench_error* error) noexcept {
  return guard(error, [&] { self(averaging).finish({values, count}); });
}
inline SearchingAveraging& searching(quench_averaging* averaging) {
  return static_cast<SearchingAveraging&>(self(averaging));
}
inline quench_status search_members(quench_averaging* averaging,
                                    const quench_averaging_member* members, uint64_t count,
                                    quench_status (*score)(void*, const double*, uint64_t, double*,
                                                           quench_error*) noexcept,
                                    void* context, double* weights, quench_error* error) noexcept {
  return guard(error, [&] {
    const auto ask = [&](std::span<const double> tried) {
      double value = 0;
      quench_error failure{sizeof failure, 0, {}};
      check(score(context, tried.data(), tried.size(), &value, &failure), failure);
      return value;
    };
    const std::vector<double> found = searching(averaging).search({members, count}, ask);
    expects(found.size() == count, "search: not one weight per member");
    std::copy(found.begin(), found.end(), weights);
  });
}
inline quench_status begin_weighted_average(quench_averaging* averaging,
                                            const quench_averaging_member* members, uint64_t count,
                                            const double* weights, quench_error* error) noexcept {
  return guard(error, [&] {
    searching(averaging).begin_weighted({members, count}, {weights, count});
  });
}
inline const ResumableSums& resumable(const quench_averaging* averaging) {
  return dynamic_cast<const ResumableSums&>(*reinterpret_cast<const Averaging*>(averaging));
}
inline quench_status size_of_sums(const quench_averaging* averaging, uint64_t* count,
                                  quench_error* error) noexcept {
  return guard(error, [&] { *count = resumable(averaging).sums().size(); });
}
inline quench_status get_sums(const quench_averaging* averaging, double* values, uint64_t count,
                              quench_error* error) noexcept {
  return guard(error, [&] {
    const std::span<const double> sums = resumable(averaging).sums();
    expects(sums.size() == count, "sums_get: wanted the count that sums_size returned");
    std::copy(sums.begin(), sums.end(), values);
  });
}
inline quench_status set_sums(quench_averaging* averaging, uint64_t members, uint64_t chunk,
                              const double* values, uint64_t count, quench_error* error) noexcept {
  return guard(error, [&] {
    dynamic_cast<ResumableSums&>(self(averaging)).resume(members, chunk, {values, count});
  });
}

}  // namespace detail

// Makes the item of an averaging class that has a nested `Params` and a constructor from it.
template <typename Plugin>
quench_item averaging(const About& about) {
  static const quench_averaging_table kTable = [] {
    quench_averaging_table table{};
    table.struct_size = sizeof table;
    table.create = detail::create_averaging<Plugin>;
    table.destroy = detail::destroy_averaging;
    table.needs = detail::averaging_needs;
    table.select = detail::select_members;
    table.begin = detail::begin_average;
    table.accumulate = detail::accumulate_chunk;
    table.finish = detail::finish_chunk;
    if (std::is_base_of_v<SearchingAveraging, Plugin>) {
      table.search = detail::search_members;
      table.begin_weighted = detail::begin_weighted_average;
    }
    if (std::is_base_of_v<ResumableSums, Plugin>) {
      table.sums_size = detail::size_of_sums;
      table.sums_get = detail::get_sums;
      table.sums_set = detail::set_sums;
    }
    return table;
  }();
  return make_item<typename Plugin::Params>(QUENCH_KIND_AVERAGING, about, &kTable);
}

}  // namespace quench::kit
