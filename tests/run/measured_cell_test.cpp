
#include <catch2/catch.hpp>

#include "run/cell_history.hpp"

using quench::Cell;
using quench::CellState;
using quench::MeasuredCell;
using quench::Variant;

namespace {

MeasuredCell cell_of(const Variant& variant, const std::string& key, CellState state) {
  MeasuredCell out;
  out.cell.variant = variant;
  out.cell.key = key;
  out.cell.state = state;
  return out;
}

std::vector<MeasuredCell> three_variants() {
  const Variant floating{};
  const Variant first{0, 0, 0};
  const Variant second_draw{0, 1, 0};
  return {cell_of(floating, "a", CellState::kDone), cell_of(floating, "b", CellState::kToDo),
          cell_of(first, "c", CellState::kFailed), cell_of(second_draw, "", CellState::kToDo),
          cell_of(second_draw, "e", CellState::kToDo)};
}

}  // namespace

TEST_CASE("measured cells: those of one variant stand together", "[run]") {
  std::vector<MeasuredCell> cells = three_variants();
  const auto variants = quench::by_variant(cells);
  REQUIRE(variants.size() == 3);
  CHECK(variants[0].size() == 2);
  CHECK(variants[1].size() == 1);
  CHECK(variants[2].size() == 2);
  CHECK(variants[2].data() == &cells[3]);
  CHECK(quench::by_variant({}).empty());
}

TEST_CASE("measured cells: what is to do has a key, or is known by nobody", "[run]") {
  std::vector<MeasuredCell> cells = three_variants();
  CHECK(quench::keys_to_do(cells) == std::vector<std::string>{"b", "e"});
  CHECK(quench::any_to_do(cells));
  const auto variants = quench::by_variant(cells);
  CHECK_FALSE(quench::any_to_do(variants[1]));
}

TEST_CASE("measured cells: nothing is expected of a variant that failed whole", "[run]") {
  std::vector<MeasuredCell> cells = three_variants();
  const auto variants = quench::by_variant(cells);
  CHECK_FALSE(quench::all_failed(variants[0]));
  CHECK(quench::all_failed(variants[1]));
  CHECK_FALSE(quench::all_failed(variants[2]));
  cells[3].fault = quench::Error(QUENCH_INTERNAL, "no");
  CHECK_FALSE(quench::all_failed(variants[2]));  // one cell may still be measured
  cells[4].fault = quench::Error(QUENCH_INTERNAL, "no");
  CHECK(quench::all_failed(variants[2]));
}

TEST_CASE("cell history: where nothing is remembered every cell is to do, without a key", "[run]") {
  const quench::RunnerOptions options;
  quench::RunStatus status;
  const quench::CellHistory history(options, status);
  const quench::Experiment experiment;
  MeasuredCell measured;
  CHECK_FALSE(history.known_state(experiment, measured.cell).has_value());
  CHECK(history.may_need_work(experiment, measured.cell));
  history.identify(experiment, measured);
  CHECK(measured.parts.is_null());
  CHECK(measured.cell.key.empty());
  CHECK(measured.cell.state == CellState::kToDo);
  CHECK(history.records_of(experiment, measured.cell).empty());
  CHECK(measured.cell.state == CellState::kToDo);
  CHECK_FALSE(history.pending(experiment, {}).has_value());
}
