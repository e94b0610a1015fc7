// What every averaging scheme must do, whatever its weights.
#pragma once

#include "quench/abi/kind/averaging.h"
#include "quench/abi/module.h"

namespace quench::test::averaging_contract {

void equal_members_average_to_themselves(const quench_item& item);
// Chunks of one tensor are independent: the same bits however it is cut.
void chunks_do_not_matter(const quench_item& item);
void members_are_chosen_in_order_or_refused_with_a_reason(const quench_item& item);
// The search, where an item has it.
void a_search_ends_no_worse_than_the_best_member(const quench_item& item);

// The sums of a chunk, where an item has them: the same bits, wherever a chunk is taken up again.
void sums_that_were_handed_out_are_taken_back(const quench_item& item);

}  // namespace quench::test::averaging_contract
