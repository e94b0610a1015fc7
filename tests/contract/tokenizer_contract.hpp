// What every tokenizer must do, whatever its files are.
#pragma once

#include <string>

#include "quench/abi/kind/tokenizer.h"
#include "quench/abi/module.h"

namespace quench::test::tokenizer_contract {

// A file that the tokenizer takes, under the name that such files have.
struct TokenizerFile {
  std::string name;
  std::string bytes;
};

void its_own_file_is_known_by_name_and_no_other(const quench_item& item, const TokenizerFile& file);
void ids_are_in_the_vocabulary(const quench_item& item, const TokenizerFile& file);
void a_document_has_the_same_ids_alone_and_in_any_batch(const quench_item& item,
                                                        const TokenizerFile& file);
void threads_change_nothing(const quench_item& item, const TokenizerFile& file);
void two_open_at_once_do_not_disturb_each_other(const quench_item& item, const TokenizerFile& file);
void no_memory_is_an_error(const quench_item& item, const TokenizerFile& file);
// A tokenizer may take bytes that are no UTF-8.
void the_first_bad_document_is_named_and_no_memory_asked_for(const quench_item& item,
                                                             const TokenizerFile& file);
void a_file_cut_anywhere_opens_or_is_refused_with_its_name(const quench_item& item,
                                                           const TokenizerFile& file);
void a_request_to_stop_ends_a_long_batch(const quench_item& item, const TokenizerFile& file);

}  // namespace quench::test::tokenizer_contract
