// What every quantizer must do, whatever its method. Each check runs on one plugin with its default
// parameters and fails as a Catch2 assertion.
#pragma once

#include "quench/abi/module.h"

namespace quench::test::quantizer_contract {

void same_input_same_result(const quench_item& item);
void threads_do_not_matter(const quench_item& item);
void zero_stays_zero(const quench_item& item);
void codes_explain_the_weight(const quench_item& item);
void last_group_may_be_shorter(const quench_item& item);
void not_finite_weights_are_refused_by_name(const quench_item& item);
void not_finite_rows_are_refused(const quench_item& item);
// Rank-deficient and single rows, equal and dead columns, a huge channel, groups of zeros, tiny and
// huge weights: a finite weight that its codes explain, or an error that names the linear.
void hard_inputs_are_survived(const quench_item& item);
void accepted_groups_serve_as_well_as_own(const quench_item& item);
void rows_that_are_needed_are_asked_for(const quench_item& item);
// An op does the same to the same rows, and to rows of zeros nothing.
void an_op_is_a_function(const quench_item& item);
void bits_per_weight_are_given(const quench_item& item);
void memory_is_given_back(const quench_item& item);
// Memory: what a state says it takes is what its tensors come to.
void memory_is_what_is_said(const quench_item& item);

}  // namespace quench::test::quantizer_contract
