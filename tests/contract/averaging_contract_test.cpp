#include "tests/contract/averaging_contract.hpp"

#include <catch2/catch.hpp>

#include "tests/contract/tensors.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

struct Averager {
  const quench_averaging_table& table;
  quench_averaging* averaging = nullptr;
  quench_error error{sizeof error, 0, {}};

  explicit Averager(const quench_item& item) : table(table_of<quench_averaging_table>(item)) {
    const std::string json = complete_parameters(item, {});
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
  Averager averager(item);
  const std::vector<double> member = numbers<double>(3, 100);
  const std::vector<double> result = averager.average({member, member, member, member}, 100);
  for (size_t i = 0; i < member.size(); ++i) {
    REQUIRE(result[i] == Approx(member[i]).epsilon(1e-15));
  }
}

void chunks_do_not_matter(const quench_item& item) {
  Averager averager(item);
  const std::vector<std::vector<double>> members = {
      numbers<double>(1, 100), numbers<double>(2, 100), numbers<double>(3, 100)};
  const std::vector<double> whole = averager.average(members, 100);
  CHECK(averager.average(members, 7) == whole);
  CHECK(averager.average(members, 1) == whole);
}

void members_are_chosen_in_order_or_refused_with_a_reason(const quench_item& item) {
  Averager averager(item);
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

}  // namespace quench::test
