// What every metric must do, whatever it measures, on a model that can all that a metric may ask.
#pragma once

#include "quench/abi/kind/metric.h"
#include "quench/abi/module.h"

namespace quench::test::metric_contract {

void equal_models_measure_equal(const quench_item& item);
// Its main value is finite and has a name, a unit and a direction; items are equally many for any
// two models.
void values_are_complete_and_items_pair(const quench_item& item);
void an_empty_corpus_is_an_error(const quench_item& item);

}  // namespace quench::test::metric_contract
