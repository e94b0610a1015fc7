// A plugin module in the test's own process: one item of each of some kinds, each small enough to
// see what crossed a border from what it gives.
#pragma once

#include <cstddef>

#include "quench/abi/host.h"
#include "quench/abi/kind/averaging.h"
#include "quench/abi/kind/corpus.h"
#include "quench/abi/kind/metric.h"
#include "quench/abi/kind/optimizer.h"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/kind/tokenizer.h"

namespace quench::test {

// Rounds to whole numbers. Parameters "bad" are refused. Linear 1 becomes an op that adds 1, and
// linear 9 is not finite.
extern const quench_quantizer_table kFakeQuantizer;
// Scores the ids of its first corpus, and writes what it sees of the arguments as values.
extern const quench_metric_table kFakeMetric;
// Three documents: an empty one, "small", and 5000 letters; parameters are the SHA-256.
extern const quench_corpus_table kFakeCorpus;
// Means of the last two members.
extern const quench_averaging_table kFakeAveraging;
// Sums the gradients at the weights and, `step` times, at their double.
extern const quench_optimizer_table kFakeOptimizer;
// An id per byte.
extern const quench_tokenizer_table kFakeTokenizer;

// Instances, states and ops that have been made and not given back.
size_t live_fakes();
// Gives them back, as the end of their process does.
void end_fakes();

}  // namespace quench::test
