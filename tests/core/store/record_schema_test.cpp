#include "core/store/record_schema.hpp"

#include <catch2/catch.hpp>

#include "tests/core/store/sample_records.hpp"

using quench::difference_text;
using quench::first_disagreement;
using quench::Record;

TEST_CASE("records: a later computation may say more in details, and nothing else",
          "[core][store]") {
  Record was = quench::test::sample_record(1);
  was.details = {{"layers", {{{"name", "q"}, {"bits", 4}, {"seconds", 1.0}}}}, {"scale", nullptr}};
  Record is = was;
  is.details["layers"][0]["entries"] = 16;
  is.details["layers"][0]["seconds"] = 2.0;
  is.details["since"] = {{"bits", 3}};
  CHECK_FALSE(first_disagreement({was}, {is}));

  const auto text = [](const std::vector<Record>& before, const std::vector<Record>& now) {
    const auto found = first_disagreement(before, now);
    return found ? difference_text(*found) : "nothing";
  };
  CHECK(text({is}, {was}) == "values[0].details.layers[0].entries: nothing, was 16");
  Record other = is;
  other.details["scale"] = 0.5;
  CHECK(text({was}, {other}) == "values[0].details.scale: 0.5, was nothing");
  other = is;
  other.value = 2.25;
  CHECK(text({was, was}, {is, other}) == "values[1].value: 2.25, was 2.5");
  other = is;
  other.items[1] = 0;
  CHECK(text({was}, {other}) == "values[0].items[1]: 0.0, was 3.5");
  CHECK(text({was}, {}) != "nothing");
}
