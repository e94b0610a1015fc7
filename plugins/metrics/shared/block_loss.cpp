#include "metrics/shared/block_loss.hpp"

#include <cmath>

namespace quench::metrics {

TextBlocks text_blocks(const quench_tokens& tokens, uint64_t block) {
  const uint64_t ids = tokens.offsets[tokens.documents];
  if (ids < block) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "corpus `%s` is smaller than one block: got %llu ids, wanted at least %llu",
              tokens.corpus, static_cast<unsigned long long>(ids),
              static_cast<unsigned long long>(block));
  }
  return {tokens.ids, ids / block, block};
}

std::vector<double> scored_nll(const kit::Evaluation& evaluation, const TextBlocks& text) {
  std::vector<uint64_t> starts(text.blocks + 1);
  for (uint64_t b = 0; b <= text.blocks; ++b) {
    starts[b] = b * text.block;
  }
  std::vector<double> nll(text.blocks * text.block);
  evaluation.score({sizeof(quench_score_args), 0, text.blocks, text.ids, starts.data(), nullptr,
                    nll.data(), nullptr, nullptr});
  for (uint64_t i = 0; i < nll.size(); ++i) {
    if (i % text.block != 0 && !std::isfinite(nll[i])) {
      kit::fail(QUENCH_NUMERICAL, "block %llu, position %llu: the model's nll is %g",
                static_cast<unsigned long long>(i / text.block),
                static_cast<unsigned long long>(i % text.block + 1), nll[i]);
    }
  }
  return nll;
}

std::vector<double> block_means(const std::vector<double>& nll, uint64_t block) {
  std::vector<double> means(nll.size() / block);
  for (uint64_t b = 0; b < means.size(); ++b) {
    double sum = 0;
    for (uint64_t t = 1; t < block; ++t) {
      sum += nll[b * block + t];
    }
    means[b] = sum / static_cast<double>(block - 1);
  }
  return means;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

double standard_error_of(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / (count - 1) / count);
}

}  // namespace quench::metrics
