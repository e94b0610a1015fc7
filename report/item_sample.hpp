// What the items of a loss are a sample of, and what follows for means of paired differences.
//
// Neighbouring blocks of a text resemble each other, so they are not independent samples. Where a
// record says how much of its loss belongs to which document, the documents are the sample, each
// with all of its positions. Elsewhere the blocks are, in their order, and what is drawn is runs of
// neighbours (the moving-block bootstrap of Künsch, 1989).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "report/observation.hpp"
#include "report/spread.hpp"

namespace quench {

// Fewer documents than this are no sample: then the blocks count, in runs.
inline constexpr size_t kFewestDocuments = 10;
// Resamples for statistics whose spread has no closed form.
inline constexpr size_t kResamples = 3999;

struct ItemSample {
  bool by_documents = false;
  bool is_text = true;        // blocks in their order; else questions, which are independent
  std::vector<double> sizes;  // scored positions of each document; of blocks: 1 each
  size_t count() const { return sizes.size(); }
  size_t run() const;  // neighbours that are drawn together; documents: 1
  double degrees_of_freedom() const;
};

// Blocks that are drawn together, of `count`: min(⌈3 ∛count⌉, ⌊count / 6⌋), at least 1. The first
// term is three times the rate at which the mean squared error of the variance is least, so that
// dependence over a few blocks biases it little; the second leaves six runs in short texts.
size_t block_run(size_t count);

// The sample that all records share: the documents if every record attributes its loss to the same
// ones and there are kFewestDocuments, else the items; nothing if they share fewer than 2.
std::optional<ItemSample> common_sample(std::span<const Record* const> records);

// The part of the record's loss that belongs to each unit: Σ nll of a document, the value of a
// block. Their sum over that of the sizes is the loss.
std::vector<double> unit_sums(const Record& record, const ItemSample& sample);

// The mean of the sums per size, with a t interval.
//   documents: (Σ sᵤ)/(Σ nᵤ), with the jackknife's variance, which leaves out one at a time,
//              (D−1)/D Σ ((sᵤ − mean nᵤ)/(Σ n − nᵤ))²; (Σ nᵤ)²/Σ nᵤ² − 1 degrees of freedom, D − 1
//              of equal documents: a few long ones say less than as many as there are
//   blocks:    the mean, with the variance of means of N/L runs of L neighbours, which is that of
//              the moving-block bootstrap with infinitely many resamples times N/(N − L):
//              L/((N−L+1)(N−L)) Σ (mean of the run at i − mean)²; 1.5 (N/L − 1) degrees of freedom
//              (Meketon and Schmeiser, 1984); with L = 1 the usual t interval.
//              Few runs do not see all of a dependence, so the runs are of what a block has that
//              its neighbour does not tell, eᵢ = xᵢ − φ xᵢ₋₁ (xᵢ without the mean), and their
//              variance is divided by (1 − φ)² (prewhitening; Andrews and Monahan, 1992). φ is the
//              correlation of neighbours r, plus its bias (1 + 4r)/N (Marriott and Pope, 1954),
//              between 0 and 1 − 1/√N (Sul, Phillips and Choi, 2005)
Spread item_spread(const ItemSample& sample, const std::vector<double>& sums);

// The spread of ΔCE of a quantized model over the items, paired with the float model's; nothing
// without a float model or with fewer than 2 shared items.
std::optional<Spread> delta_spread(const Observation& it);

// kResamples × how often each unit was drawn. The same for every call with the same sample.
std::vector<std::vector<uint32_t>> resampled_counts(const ItemSample& sample);
// Σ countᵤ sᵤ / Σ countᵤ nᵤ.
double resampled_mean(const ItemSample& sample, const std::vector<double>& sums,
                      const std::vector<uint32_t>& counts);

}  // namespace quench
