// One variant of the open weights: quantizes if it has a quantizer, measures, and restores.
#pragma once

#include <optional>
#include <span>

#include "core/pass/quantize_cell.hpp"
#include "core/pass/stored_size.hpp"
#include "run/measure_cells.hpp"
#include "run/owed_folders.hpp"
#include "run/weights_at_work.hpp"

namespace quench {

class VariantRun {
 public:
  // `open`: empty if the weights have no model, because nothing is pending or it cannot be opened.
  VariantRun(WeightsAtWork& weights, std::optional<OpenWeights>& open, const OwedFolders& folders,
             QuantizeCell& quantization);

  // Takes existing records, computes the others and writes the folder of the variant. `cells`:
  // those of one variant.
  void run(std::span<MeasuredCell> cells);

 private:
  // Fills in what is known without computing.
  void take_records(std::span<MeasuredCell> cells);
  void run_quantized(std::span<MeasuredCell> cells, const OwedFolder* folder);
  void quantize_and_measure(std::span<MeasuredCell> cells, const OwedFolder* folder,
                            FloatWeights& kept, nlohmann::json& quantizer);
  // {"stored_bytes": ...} for the records of these weights; {} for files of codes, whose own size
  // is another matter.
  nlohmann::json size_details(const QuantizedShare& quantized) const;
  // The score requests that are known before the variant exists.
  std::span<const ScoreRequest> requests(std::span<const MeasuredCell> cells) const;

  WeightsAtWork& weights_;
  std::optional<OpenWeights>& open_;
  const OwedFolders& folders_;
  QuantizeCell& quantization_;
};

// The calibration sample of a variant with a quantizer.
CalibrationDraw draw_of(const Experiment& experiment, const Variant& variant);

}  // namespace quench
