// What every averaging scheme must do, whatever its weights.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/averaging.h"
#include "quench/abi/parameter.h"

namespace quench::promises {

namespace {

class Averager {
 public:
  // `members`: how many there will be. A required list of numbers has one for each.
  Averager(Candidate& candidate, size_t members)
      : table(table_of<quench_averaging_table>(candidate)) {
    nlohmann::json given = nlohmann::json::object();
    for (const Parameter& parameter : candidate.parameters()) {
      if (!parameter.preset && parameter.type == QUENCH_PARAMETER_NUMBER_LIST) {
        for (size_t m = 0; m < members; ++m) {
          given[parameter.name].push_back(static_cast<double>(m + 1));
        }
      }
    }
    const std::string json = complete(candidate, given);
    ok("create", table.create(json.data(), json.size(), &averaging, &error));
  }
  ~Averager() {
    if (averaging != nullptr) {
      table.destroy(averaging);
    }
  }
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;

  void ok(const char* function, quench_status status) {
    expect(status == QUENCH_OK, "{}: got the error \"{}\"", function, error.message);
  }
  void refused(const char* what, quench_status got, quench_status wanted) {
    expect(got == wanted, "{}: got status {}, wanted {}", what, got, wanted);
  }

  void begin(size_t members) {
    const auto infos = members_named(members);
    ok("begin", table.begin(averaging, infos.data(), infos.size(), &error));
  }
  void accumulate(size_t member, const double* values, uint64_t count) {
    ok("accumulate", table.accumulate(averaging, member, values, count, &error));
  }
  std::vector<double> finish(uint64_t count) {
    std::vector<double> values(count, NAN);
    ok("finish", table.finish(averaging, values.data(), count, &error));
    return values;
  }

  // The average of one tensor's members, in chunks of `chunk` values.
  std::vector<double> average(const std::vector<std::vector<double>>& members, size_t chunk) {
    begin(members.size());
    std::vector<double> result;
    for (size_t at = 0; at < members[0].size(); at += chunk) {
      const uint64_t count = std::min(chunk, members[0].size() - at);
      for (size_t m = 0; m < members.size(); ++m) {
        accumulate(m, &members[m][at], count);
      }
      const std::vector<double> values = finish(count);
      result.insert(result.end(), values.begin(), values.end());
    }
    return result;
  }

  static std::vector<quench_averaging_member> members_named(size_t count) {
    std::vector<quench_averaging_member> members;
    for (size_t i = 0; i < count; ++i) {
      members.push_back(
          {sizeof(quench_averaging_member), "step", static_cast<int64_t>(100 * (i + 1)), -1});
    }
    return members;
  }

  const quench_averaging_table& table;
  quench_averaging* averaging = nullptr;
  quench_error error{sizeof error, 0, {}};
};

void equal_members_average_to_themselves(Candidate& candidate) {
  Averager averager(candidate, 4);
  const std::vector<double> member = numbers<double>(3, 100);
  const std::vector<double> result = averager.average({member, member, member, member}, 100);
  for (size_t i = 0; i < member.size(); ++i) {
    expect(is_near(result[i], member[i], 1e-15, 0), "value {} of four that are {} is {}", i,
           member[i], result[i]);
  }
}

void chunks_do_not_matter(Candidate& candidate) {
  Averager averager(candidate, 3);
  const std::vector<std::vector<double>> members = {
      numbers<double>(1, 100), numbers<double>(2, 100), numbers<double>(3, 100)};
  const std::vector<double> whole = averager.average(members, 100);
  expect_same("the average", averager.average(members, 100), whole, "the second time");
  expect_same("the average", averager.average(members, 7), whole, "in chunks of 7");
  expect_same("the average", averager.average(members, 1), whole, "in chunks of 1");
}

void members_are_chosen_in_order(Candidate& candidate) {
  Averager averager(candidate, 3);
  const auto members = Averager::members_named(12);
  for (uint64_t last = 0; last < members.size(); ++last) {
    std::vector<uint64_t> selected(members.size(), 99);
    uint64_t count = 0;
    const quench_status status =
        averager.table.select(averager.averaging, members.data(), members.size(), last,
                              selected.data(), &count, &averager.error);
    if (status != QUENCH_OK) {
      averager.refused("select", status, QUENCH_FAILED_PRECONDITION);
      expect(averager.error.message[0] != '\0', "select: refuses member {} without a reason", last);
      continue;
    }
    expect(count >= 1 && count <= members.size(), "select: chooses {} of {} members", count,
           members.size());
    for (uint64_t i = 1; i < count; ++i) {
      expect(selected[i - 1] < selected[i], "select: member {} comes before {}", selected[i - 1],
             selected[i]);
    }
    expect(selected[count - 1] <= last, "select: chooses member {}, wanted at most {}",
           selected[count - 1], last);
  }
}

// The score is the distance of the average from 0.1; the members are six numbers.
struct Scores {
  std::vector<double> members = numbers<double>(5, 6);
  static quench_status of(void* context, const double* weights, uint64_t count, double* value,
                          quench_error*) noexcept {
    const auto& self = *static_cast<Scores*>(context);
    *value = std::fabs(std::inner_product(weights, weights + count, self.members.begin(), -0.1));
    return QUENCH_OK;
  }
};

void a_search_ends_no_worse(Candidate& candidate) {
  Averager averager(candidate, 6);
  if (averager.table.search == nullptr) {
    skip("it does not search");
  }
  Scores scores;
  const auto members = Averager::members_named(6);
  std::vector<double> weights(6, -1);
  averager.ok("search", averager.table.search(averager.averaging, members.data(), 6, Scores::of,
                                              &scores, weights.data(), &averager.error));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  expect(is_near(sum, 1, 1e-12, 0), "search: the weights' sum is {}, wanted 1", sum);
  double found = 0;
  Scores::of(&scores, weights.data(), 6, &found, nullptr);
  for (const double member : scores.members) {
    expect(found <= std::fabs(member - 0.1), "search: ends with a score of {}, and a member has {}",
           found, std::fabs(member - 0.1));
  }
  // The chosen ones, by begin_weighted, make the average that was scored.
  std::vector<quench_averaging_member> chosen;
  std::vector<double> kept;
  std::vector<double> values;
  for (size_t i = 0; i < 6; ++i) {
    if (weights[i] != 0) {
      chosen.push_back(members[i]);
      kept.push_back(weights[i]);
      values.push_back(scores.members[i]);
    }
  }
  averager.ok("begin_weighted",
              averager.table.begin_weighted(averager.averaging, chosen.data(), chosen.size(),
                                            kept.data(), &averager.error));
  for (size_t i = 0; i < chosen.size(); ++i) {
    averager.accumulate(i, &values[i], 1);
  }
  const double average = averager.finish(1)[0];
  expect(is_near(std::fabs(average - 0.1), found, 0, 1e-12),
         "begin_weighted: gives an average with the score {}, and search found {}",
         std::fabs(average - 0.1), found);
}

void sums_are_taken_back(Candidate& candidate) {
  constexpr size_t kMembers = 5;
  constexpr size_t kChunk = 33;
  std::vector<std::vector<double>> members;
  for (size_t m = 0; m < kMembers; ++m) {
    members.push_back(numbers<double>(m + 1, kChunk));
  }
  const std::vector<double> wanted = Averager(candidate, kMembers).average(members, kChunk);
  const auto accumulate = [&](Averager& averager, size_t from, size_t to) {
    for (size_t m = from; m < to; ++m) {
      averager.accumulate(m, members[m].data(), kChunk);
    }
  };
  for (size_t cut = 1; cut <= kMembers; ++cut) {
    Averager first(candidate, kMembers);
    if (first.table.sums_size == nullptr) {
      skip("it does not hand out its sums");
    }
    first.begin(kMembers);
    uint64_t count = 0;
    first.refused("sums_size before a member",
                  first.table.sums_size(first.averaging, &count, &first.error),
                  QUENCH_FAILED_PRECONDITION);
    accumulate(first, 0, cut);
    first.ok("sums_size", first.table.sums_size(first.averaging, &count, &first.error));
    expect(count >= 1, "sums_size: says 0");
    std::vector<double> values(count + 1);
    first.refused("sums_get of another size",
                  first.table.sums_get(first.averaging, values.data(), count + 1, &first.error),
                  QUENCH_INVALID_ARGUMENT);
    first.ok("sums_get", first.table.sums_get(first.averaging, values.data(), count, &first.error));

    Averager second(candidate, kMembers);
    second.begin(kMembers);
    const auto set = [&](uint64_t taken, uint64_t size) {
      return second.table.sums_set(second.averaging, taken, kChunk, values.data(), size,
                                   &second.error);
    };
    second.refused("sums_set of no members", set(0, count), QUENCH_INVALID_ARGUMENT);
    second.refused("sums_set of too many members", set(kMembers + 1, count),
                   QUENCH_INVALID_ARGUMENT);
    second.refused("sums_set of another size", set(cut, count - 1), QUENCH_INVALID_ARGUMENT);
    second.ok("sums_set", set(cut, count));
    accumulate(second, cut, kMembers);
    expect_same("the average", second.finish(kChunk), wanted, "from sums that were handed out");
    accumulate(first, cut, kMembers);
    expect_same("the average", first.finish(kChunk), wanted, "after its sums were handed out");
  }
}

constexpr Promise kPromises[] = {
    {"members that are equal average to themselves", equal_members_average_to_themselves, true},
    {"chunks of a tensor do not matter", chunks_do_not_matter},
    {"members are chosen in order, or refused with a reason", members_are_chosen_in_order},
    {"a search ends no worse than with the best member", a_search_ends_no_worse},
    {"sums that were handed out are taken back, bit for bit", sums_are_taken_back},
};

}  // namespace

std::span<const Promise> averaging_promises() {
  return kPromises;
}

}  // namespace quench::promises
