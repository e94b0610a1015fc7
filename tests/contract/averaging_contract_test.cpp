#include "tests/contract/averaging_contract.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/contract/tensors.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

struct Averager {
  const quench_averaging_table& table;
  quench_averaging* averaging = nullptr;
  quench_error error{sizeof error, 0, {}};

  // `members`: how many there will be. A required list of numbers has one for each.
  Averager(const quench_item& item, size_t members)
      : table(table_of<quench_averaging_table>(item)) {
    nlohmann::json given = nlohmann::json::object();
    for (uint32_t i = 0; i < item.parameter_count; ++i) {
      const quench_parameter& parameter = item.parameters[i];
      if (parameter.default_json == nullptr && parameter.type == QUENCH_PARAMETER_NUMBER_LIST) {
        for (size_t m = 0; m < members; ++m) {
          given[parameter.name].push_back(static_cast<double>(m + 1));
        }
      }
    }
    const std::string json = complete_parameters(item, given);
    REQUIRE(table.create(json.data(), json.size(), &averaging, &error) == QUENCH_OK);
  }
  ~Averager() { table.destroy(averaging); }

  // The average of one tensor's members, in chunks of `chunk` values.
  std::vector<double> average(const std::vector<std::vector<double>>& members, size_t chunk) {
    const std::vector<quench_averaging_member> infos = members_named(members.size());
    REQUIRE(table.begin(averaging, infos.data(), infos.size(), &error) == QUENCH_OK);
    std::vector<double> result(members[0].size());
    for (size_t at = 0; at < result.size(); at += chunk) {
      const uint64_t count = std::min(chunk, result.size() - at);
      for (size_t m = 0; m < members.size(); ++m) {
        REQUIRE(table.accumulate(averaging, m, &members[m][at], count, &error) == QUENCH_OK);
      }
      REQUIRE(table.finish(averaging, &result[at], count, &error) == QUENCH_OK);
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
};

}  // namespace

namespace averaging_contract {

void equal_members_average_to_themselves(const quench_item& item) {
  Averager averager(item, 4);
  const std::vector<double> member = numbers<double>(3, 100);
  const std::vector<double> result = averager.average({member, member, member, member}, 100);
  for (size_t i = 0; i < member.size(); ++i) {
    REQUIRE(result[i] == Approx(member[i]).epsilon(1e-15));
  }
}

void chunks_do_not_matter(const quench_item& item) {
  Averager averager(item, 3);
  const std::vector<std::vector<double>> members = {
      numbers<double>(1, 100), numbers<double>(2, 100), numbers<double>(3, 100)};
  const std::vector<double> whole = averager.average(members, 100);
  CHECK(averager.average(members, 7) == whole);
  CHECK(averager.average(members, 1) == whole);
}

void members_are_chosen_in_order_or_refused_with_a_reason(const quench_item& item) {
  Averager averager(item, 3);
  const auto members = Averager::members_named(12);
  for (uint64_t last = 0; last < members.size(); ++last) {
    std::vector<uint64_t> selected(members.size(), 99);
    uint64_t count = 0;
    const quench_status status =
        averager.table.select(averager.averaging, members.data(), members.size(), last,
                              selected.data(), &count, &averager.error);
    if (status != QUENCH_OK) {
      CHECK(status == QUENCH_FAILED_PRECONDITION);
      CHECK(averager.error.message[0] != '\0');
      continue;
    }
    REQUIRE(count >= 1);
    REQUIRE(count <= members.size());
    for (uint64_t i = 1; i < count; ++i) {
      CHECK(selected[i - 1] < selected[i]);
    }
    CHECK(selected[count - 1] <= last);
  }
}

void a_search_ends_no_worse_than_the_best_member(const quench_item& item) {
  Averager averager(item, 6);
  if (averager.table.search == nullptr) {
    SUCCEED("it does not search");
    return;
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
  } scores;
  const auto members = Averager::members_named(6);
  std::vector<double> weights(6, -1);
  REQUIRE(averager.table.search(averager.averaging, members.data(), 6, Scores::of, &scores,
                                weights.data(), &averager.error) == QUENCH_OK);
  CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == Approx(1).epsilon(1e-12));
  double found = 0;
  Scores::of(&scores, weights.data(), 6, &found, nullptr);
  for (const double member : scores.members) {
    CHECK(found <= std::fabs(member - 0.1));
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
  REQUIRE(averager.table.begin_weighted(averager.averaging, chosen.data(), chosen.size(),
                                        kept.data(), &averager.error) == QUENCH_OK);
  for (size_t i = 0; i < chosen.size(); ++i) {
    REQUIRE(averager.table.accumulate(averager.averaging, i, &values[i], 1, &averager.error) ==
            QUENCH_OK);
  }
  double average = 0;
  REQUIRE(averager.table.finish(averager.averaging, &average, 1, &averager.error) == QUENCH_OK);
  CHECK(std::fabs(average - 0.1) == Approx(found).margin(1e-12));
}

void sums_that_were_handed_out_are_taken_back(const quench_item& item) {
  constexpr size_t kMembers = 5;
  constexpr size_t kChunk = 33;
  std::vector<std::vector<double>> members;
  for (size_t m = 0; m < kMembers; ++m) {
    members.push_back(numbers<double>(m + 1, kChunk));
  }
  const std::vector<double> expected = Averager(item, kMembers).average(members, kChunk);
  const auto infos = Averager::members_named(kMembers);
  const auto accumulate = [&](Averager& averager, size_t from, size_t to) {
    for (size_t m = from; m < to; ++m) {
      REQUIRE(averager.table.accumulate(averager.averaging, m, members[m].data(), kChunk,
                                        &averager.error) == QUENCH_OK);
    }
  };
  const auto finish = [&](Averager& averager) {
    std::vector<double> values(kChunk);
    REQUIRE(averager.table.finish(averager.averaging, values.data(), kChunk, &averager.error) ==
            QUENCH_OK);
    return values;
  };
  for (size_t cut = 1; cut <= kMembers; ++cut) {
    Averager first(item, kMembers);
    if (first.table.sums_size == nullptr) {
      return;
    }
    REQUIRE(first.table.begin(first.averaging, infos.data(), kMembers, &first.error) == QUENCH_OK);
    uint64_t count = 0;
    CHECK(first.table.sums_size(first.averaging, &count, &first.error) ==
          QUENCH_FAILED_PRECONDITION);
    accumulate(first, 0, cut);
    REQUIRE(first.table.sums_size(first.averaging, &count, &first.error) == QUENCH_OK);
    REQUIRE(count >= 1);
    std::vector<double> values(count);
    CHECK(first.table.sums_get(first.averaging, values.data(), count + 1, &first.error) ==
          QUENCH_INVALID_ARGUMENT);
    REQUIRE(first.table.sums_get(first.averaging, values.data(), count, &first.error) == QUENCH_OK);

    Averager second(item, kMembers);
    REQUIRE(second.table.begin(second.averaging, infos.data(), kMembers, &second.error) ==
            QUENCH_OK);
    const auto set = [&](uint64_t taken, uint64_t size) {
      return second.table.sums_set(second.averaging, taken, kChunk, values.data(), size,
                                   &second.error);
    };
    CHECK(set(0, count) == QUENCH_INVALID_ARGUMENT);
    CHECK(set(kMembers + 1, count) == QUENCH_INVALID_ARGUMENT);
    CHECK(set(cut, count - 1) == QUENCH_INVALID_ARGUMENT);
    REQUIRE(set(cut, count) == QUENCH_OK);
    accumulate(second, cut, kMembers);
    CHECK(finish(second) == expected);
    accumulate(first, cut, kMembers);
    CHECK(finish(first) == expected);
  }
}

}  // namespace averaging_contract

namespace {

template <typename Check>
void for_each_averaging(Check check) {
  for (const quench_item* item : items_of(AVERAGING_LIBRARIES, "averaging")) {
    DYNAMIC_SECTION(item->id) {
      check(*item);
    }
  }
}

}  // namespace

TEST_CASE("every averaging gives a member back when all are equal", "[contract][averaging]") {
  for_each_averaging(averaging_contract::equal_members_average_to_themselves);
}
TEST_CASE("every averaging treats values alike, however they are chunked",
          "[contract][averaging]") {
  for_each_averaging(averaging_contract::chunks_do_not_matter);
}
TEST_CASE("every averaging selects ascending members up to the last, or says why not",
          "[contract][averaging]") {
  for_each_averaging(averaging_contract::members_are_chosen_in_order_or_refused_with_a_reason);
}
TEST_CASE("every averaging that searches ends no worse than with its best member",
          "[contract][averaging]") {
  for_each_averaging(averaging_contract::a_search_ends_no_worse_than_the_best_member);
}

TEST_CASE("every averaging that hands out its sums goes on from them, bit for bit",
          "[contract][averaging]") {
  for_each_averaging(averaging_contract::sums_that_were_handed_out_are_taken_back);
}

}  // namespace quench::test
