// What every corpus must do, whatever it reads.
#pragma once

#include <nlohmann/json.hpp>

#include "quench/abi/kind/corpus.h"
#include "quench/abi/module.h"

namespace quench::test::corpus_contract {

// `parameters` name an input that holds at least two documents.
void documents_have_one_form_and_ascending_indices(const quench_item& item,
                                                   const nlohmann::json& parameters);
void reading_again_gives_the_same(const quench_item& item, const nlohmann::json& parameters);
void two_open_at_once_do_not_disturb_each_other(const quench_item& item,
                                                const nlohmann::json& parameters);
void end_stays_end(const quench_item& item, const nlohmann::json& parameters);
// For corpora with a parameter `path`.
void a_missing_file_is_named(const quench_item& item, const nlohmann::json& parameters);

}  // namespace quench::test::corpus_contract
