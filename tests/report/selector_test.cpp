#include "report/selector.hpp"

#include <catch2/catch.hpp>

#include "tests/report/loss_records.hpp"

using quench::is_swept_label;
using quench::Record;
using quench::Selector;
using quench::test::float_loss;
using quench::test::quantized_loss;

namespace {

// Labels as a manifest's `label: mine` and an axis make them.
Record labelled(const Record& floating, const std::string& label, int bits) {
  Record out = quantized_loss(floating, "good", bits, {0.1, 0.1});
  out.quantizer["label"] = label;
  return out;
}

struct Selected {
  size_t found = 0;
  bool by_quantizer = false;
  std::string problem;
};

Selected selected(const std::string& name, const std::vector<Record>& records) {
  Selector selector;
  selector.name = selector.described = selector.text = name;
  const quench::Observations all = observe(records);
  const quench::SelectedCells out = select(selector, all.all);
  return {out.found.size(), out.by_quantizer, out.problem};
}

}  // namespace

TEST_CASE("selector: a swept label is a name with values behind it", "[report]") {
  CHECK(is_swept_label("mine bits=3", "mine"));
  CHECK(is_swept_label("mine bits=3 damp=0.05", "mine"));
  CHECK(is_swept_label("my own bits=3", "my own"));
  CHECK_FALSE(is_swept_label("mine", "mine"));
  CHECK_FALSE(is_swept_label("mine too bits=3", "mine"));
  CHECK_FALSE(is_swept_label("mines bits=3", "mine"));
  CHECK_FALSE(is_swept_label("mine =3", "mine"));
  CHECK_FALSE(is_swept_label("bits=3", ""));
}

TEST_CASE("selector: a label without the values of its sweep selects the one that has it",
          "[report]") {
  const Record f = float_loss("main", "s1", 1, {3, 4});
  const Record plain = quantized_loss(f, "plain", 3, {0.2, 0.2});
  const Selected one = selected("mine", {f, labelled(f, "mine bits=3", 3), plain});
  CHECK(one.problem.empty());
  CHECK(one.found == 1);
  CHECK(one.by_quantizer);
  const Selected two =
      selected("mine", {f, labelled(f, "mine bits=3", 3), labelled(f, "mine bits=4", 4), plain});
  CHECK(two.found == 0);
  CHECK(two.problem == "mine is the label of a sweep; name one of mine bits=3, mine bits=4");
  // A whole label or an id comes first.
  CHECK(selected("mine bits=3",
                 {f, labelled(f, "mine bits=3", 3), labelled(f, "mine bits=3 group=8", 3)})
            .found == 1);
  CHECK(selected("good", {f, labelled(f, "mine bits=3", 3), labelled(f, "mine bits=4", 4)}).found ==
        2);
}
