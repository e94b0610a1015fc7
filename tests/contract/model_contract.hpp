// What every model family must do, whatever its architecture. Each check opens a small model with
// random weights; see small_models.cpp for how a family joins.
#pragma once

#include "quench/abi/kind/model.h"
#include "quench/abi/module.h"
#include "tests/contract/small_models.hpp"

namespace quench::test {

// Runs `check` on every family of this build, in a section of its own, and looks for what it
// leaked.
void for_each_model(void (*check)(const quench_item& item, const SmallModel& small));

namespace model_contract {

// Groups name existing stages, carried tensors and parameters, and their widths agree.
void descriptions_agree(const quench_item& item, const SmallModel& small);
// Opened for its shapes (QUENCH_OPEN_SHAPES) it either refuses, or says what it says with weights.
void a_description_wants_no_weights(const quench_item& item, const SmallModel& small);
// token_nll is the log-softmax of logits, and argmax its largest.
void nll_is_that_of_the_logits(const quench_item& item, const SmallModel& small);
// Tensors that keep their name and shape through a stage may stay where they are.
void in_place_gives_the_same_bits(const quench_item& item, const SmallModel& small);
// A later token, and the other rows of a batch, do not matter to a token.
void the_future_and_other_rows_do_not_matter(const quench_item& item, const SmallModel& small);
// Where a family says from which stage on a token's own rows are enough (`token_wise_from`),
// they are.
void some_tokens_may_end_alone(const quench_item& item, const SmallModel& small);
// Packed segments see themselves only, and padding is seen by nobody.
void segments_are_contexts_of_their_own(const quench_item& item, const SmallModel& small);
void weights_come_back_after_a_restore(const quench_item& item, const SmallModel& small);
void a_linear_op_replaces_and_leaves(const quench_item& item, const SmallModel& small);
void missing_unexpected_and_misshapen_tensors_are_named(const quench_item& item,
                                                        const SmallModel& small);
// No number of a config makes a family crash or take minutes: it is good or refused by its key.
void numbers_of_a_config_are_checked(const quench_item& item, const SmallModel& small);
void ids_outside_the_vocabulary_are_refused(const quench_item& item, const SmallModel& small);

}  // namespace model_contract

}  // namespace quench::test
