#include <bit>
#include <catch2/catch.hpp>
#include <limits>

#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/store/record_schema.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/throws.hpp"

using nlohmann::json;
using quench::Record;
using quench::record_from_json;
using quench::test::code_of;
using quench::test::message_of;
using quench::test::sample_record;

namespace {

Record through_text(const Record& record) {
  return record_from_json(quench::parse_json(quench::canonical_json(to_json(record)), "text"),
                          "text");
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

}  // namespace

TEST_CASE("record JSON: every field comes back", "[store]") {
  Record record = sample_record(600, "q4", 3.25);
  record.averaging = {{"id", "a"}, {"members", {"x", "y"}}};
  record.index = 2;
  record.count = 7;
  record.error = "broken";
  record.job = 18446744073709551615u;
  record.cached = "runs/x";
  record.direction = -1;
  record.jitter = 3;
  CHECK(to_json(through_text(record)) == to_json(record));
  CHECK(to_json(record_from_json(to_json(record), "memory")) == to_json(record));
}

TEST_CASE("record JSON: a double of any kind comes back with its bits", "[store]") {
  using Limits = std::numeric_limits<double>;
  for (const double value :
       {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -0.0, 0.0, 5e-324, 1.0 / 3,
        -2.2250738585072009e-308, Limits::max(), 1.0, 9007199254740993.0, 1e23}) {
    CAPTURE(value);
    Record record = sample_record(1);
    record.value = value;
    record.standard_error = value;
    record.items = {value, 1, value};
    record.details["deep"] = {{{"x", value}}};
    const Record back = through_text(record);
    CHECK(same_bits(back.value.get<double>(), value));
    CHECK(same_bits(back.standard_error.get<double>(), value));
    CHECK(same_bits(back.items.at(2), value));
    CHECK(to_json(back) == to_json(record));
  }
}

TEST_CASE("record JSON: a number without a form in JSON is text and never null", "[store]") {
  Record record = sample_record(1);
  record.value = std::numeric_limits<double>::quiet_NaN();
  record.details["low"] = -std::numeric_limits<double>::infinity();
  const json out = to_json(record);
  CHECK(out.at("value") == "NaN");
  CHECK(out.at("details").at("low") == "-Infinity");
}

TEST_CASE("record JSON: a newer schema is refused", "[store]") {
  json out = to_json(sample_record(1));
  out["schema"] = 3;
  CHECK(code_of([&] { record_from_json(out, "f:1"); }) == QUENCH_FAILED_PRECONDITION);
  CHECK(message_of([&] { record_from_json(out, "f:1"); }) ==
        "f:1: a newer version wrote this record of schema 3; this one reads up to 2");
}

TEST_CASE("record JSON: what is no record is refused with its field", "[store]") {
  const json good = to_json(sample_record(1));
  const auto with = [&](const char* name, json value) {
    json out = good;
    out[name] = std::move(value);
    return message_of([&] { record_from_json(out, "f:7"); });
  };
  CHECK(with("schema", 1) == "f:7: got a record of schema 1, wanted 2");
  CHECK(with("schema", "2") == "f:7: the record has no schema");
  CHECK(with("index", -1) == "f:7: index is -1");
  CHECK(with("index", 1) == "f:7: index 1 of 1 values");
  CHECK(with("index", 4294967296) == "f:7: index is 4294967296");
  CHECK(with("count", 1.5) == "f:7: count is 1.5");
  CHECK(with("direction", -3000000000) == "f:7: direction is -3000000000");
  CHECK(with("value", "nan") == "f:7: value is \"nan\"");
  CHECK(with("items", {1.0, "x"}) == "f:7: items is [1.0,\"x\"]");
  CHECK(with("metric", nullptr) == "f:7: metric is null");
  CHECK(with("quantizer", "q") == "f:7: quantizer is \"q\"");
  CHECK(with("colour", 1) == "f:7: schema 2 has no field 'colour'");
  json less = good;
  less.erase("unit");
  CHECK(message_of([&] { record_from_json(less, "f:7"); }) == "f:7: the record has no unit");
  CHECK(message_of([&] { record_from_json(json::array(), "f:7"); }) ==
        "f:7: got array, wanted a record");
  CHECK(code_of([&] { record_from_json(less, "f:7"); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("record JSON: the table of fields is sorted and has what is written", "[store]") {
  const json out = to_json(sample_record(1));
  CHECK(out.size() == quench::record_fields().size());
  std::string_view before;
  for (const quench::RecordField& field : quench::record_fields()) {
    CHECK(before < field.name);
    CHECK(out.contains(std::string(field.name)));
    CHECK(field.compared == quench::is_compared(field.name));
    before = field.name;
  }
}

TEST_CASE("record JSON: times, memory and who computed it are not compared", "[store]") {
  const auto compared_json = [](const Record& record) {
    json out = to_json(record);
    const json parts = out["parts"];
    quench::strip_not_compared(out);
    out["parts"] = parts;
    return out;
  };
  Record one = sample_record(1, "q4");
  one.details = {{"layers", {{{"name", "a"}, {"solve_seconds", 1.0}}}}, {"quantize_seconds", 4.0}};
  Record other = one;
  other.seconds = 9;
  other.cached = "elsewhere";
  other.environment["threads"] = 64;
  other.environment["peak_memory_bytes"] = 5;
  other.environment["metric_interpreter"] = "/usr/bin/python3";
  other.quantizer["interpreter"] = "/usr/bin/python3";
  other.checkpoint["warnings"] = {"/here/config.json: a key"};
  other.details["layers"][0]["solve_seconds"] = 2.0;
  other.details["quantize_seconds"] = 5.0;
  CHECK(compared_json(one) == compared_json(other));
  for (const auto& change : std::vector<std::function<void(Record&)>>{
           [](Record& r) { r.value = 2.5000000001; }, [](Record& r) { r.items[1] = 0; },
           [](Record& r) { r.details["layers"][0]["name"] = "b"; },
           [](Record& r) { r.environment["dtype"] = "float64"; },
           [](Record& r) { r.parts["threads"] = 1; }, [](Record& r) { r.jitter = 1u; }}) {
    Record changed = one;
    change(changed);
    CHECK(compared_json(one) != compared_json(changed));
  }
}
