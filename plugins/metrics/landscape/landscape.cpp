// landscape: the loss on a plane or a line through weight space (Li et al. 2018, arXiv 1712.09913).
//
// | parameter  | type   | default  | meaning                                                     |
// |------------|--------|----------|-------------------------------------------------------------|
// | corpus     | corpus | required | the text that is predicted                                  |
// | block      | int    | 2048     | ids per block, each block its own context                   |
// | blocks     | int    | 0        | blocks to measure each point on; 0: all                     |
// | plane      | choice | pca      | pca, corners or line                                        |
// | center     | choice | mean     | pca: the point through which the plane goes, mean or last   |
// | corners    | list   | []       | corners, line: revisions or `quantized`, the origin first   |
// | resolution | list   | [20, 15] | grid points along x and y                                   |
// | margin     | number | 0.25     | how far the grid extends, as a share of the weights' extent |
//
// `corners` empty: the last checkpoint, the one before it and `quantized` for plane corners; the
// last checkpoint and `quantized` for plane line.
//
//   - landscape: {corpus: refinedweb, plane: pca, center: last, blocks: 16}
//   - landscape: {corpus: refinedweb, plane: corners, resolution: [40, 25]}
//
// The checkpoints are those of the branch. `pca` spans the plane by their first two principal
// components, `corners` by three sets of weights, and `line` is the line through two. If the
// quantized weights are a corner, the metric measures quantized models, otherwise the float model.
// The loss is that of `validation_loss` on the same blocks.
//
// Value: for a plane, the lowest loss on the grid; for a line, its barrier, the largest rise of the
// loss above the straight line between the losses at its ends (Frankle et al. 2020). Details: `x`,
// `y` (orthonormal coordinates, in the units of the weights), `loss` [y][x], `points` (each set of
// weights with its raw and orthonormal coordinates, its distance from the plane and the loss of its
// projection), and for pca `singular_values` and `explained_variance`.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "metrics/landscape/flat_weights.hpp"
#include "metrics/landscape/plane.hpp"
#include "metrics/landscape/point_weights.hpp"
#include "quench/kit/metric.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::metrics {

namespace {

constexpr uint64_t kPiece = uint64_t{1} << 16;  // elements of a checkpoint read at once
const std::string kQuantized = "quantized";

// null if it is not finite: far from the checkpoints a model may overflow.
std::string number(double value) {
  if (!std::isfinite(value)) {
    return "null";
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

template <typename Values>
std::string list(const Values& values) {
  std::string out = "[";
  for (const double value : values) {
    out += (out.size() > 1 ? "," : "") + number(value);
  }
  return out + "]";
}

std::string quoted(const std::string& text) {
  return kit::detail::json_text(text);
}

quench_dtype dtype_of(const quench_model_table& table, const quench_model* model) {
  quench_model_info info{};
  info.struct_size = sizeof info;
  quench_error error{sizeof error, 0, {}};
  kit::check(table.info(model, &info, &error), error);
  return info.dtype;
}

// Evenly spaced places from `low` to `high`, both included.
std::vector<double> places(double low, double high, int64_t count) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
    out.push_back(low + share * (high - low));
  }
  return out;
}

class Landscape final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    int64_t block = 2048;
    int64_t blocks = 0;
    std::string plane = "pca";
    std::string center = "mean";
    std::vector<std::string> corners;
    std::vector<int64_t> resolution{20, 15};
    double margin = 0.25;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "the text that is predicted").required();
      f.add("block", &Params::block, "ids per block, each block its own context").at_least(2);
      f.add("blocks", &Params::blocks, "blocks to measure each point on; 0: all").at_least(0);
      f.add("plane", &Params::plane,
            "the first two principal components of the branch's checkpoints, the plane through "
            "three sets of weights, or the line through two")
          .choices("pca|corners|line");
      f.add("center", &Params::center, "pca: the point through which the plane goes")
          .choices("mean|last");
      f.add("corners", &Params::corners,
            "corners, line: revisions or `quantized`, the origin first; empty: the last "
            "checkpoint, the one before it (corners only), and `quantized`");
      f.add("resolution", &Params::resolution, "grid points along x and y").range(1, 100000);
      f.add("margin", &Params::margin,
            "how far the grid extends beyond the sets of weights, as a share of their extent")
          .range(0, 100);
    }
  };

  explicit Landscape(const Params& params) : params_(params) {
    const size_t wanted = params_.plane == "corners" ? 3 : params_.plane == "line" ? 2 : 0;
    if (params_.corners.empty() ? false : params_.corners.size() != wanted) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "corners: got %zu, wanted %zu for plane %s",
                params_.corners.size(), wanted, params_.plane.c_str());
    }
    if (params_.resolution.size() != 2) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "resolution: got %zu numbers, wanted 2: along x and y",
                params_.resolution.size());
    }
    if (params_.plane == "line") {
      params_.resolution[1] = 1;
    }
  }

  uint32_t needs() const override {
    return QUENCH_METRIC_NEEDS_TRAJECTORY | (looks_at_quantized() ? QUENCH_METRIC_NEEDS_FLOAT : 0u);
  }

  void fits(const quench_model_info& model) const override {
    kit::check_context("block", params_.block, model);
  }

  // The weights that the model had and those of a point; what spans the plane, which is found in
  // host memory; and the quantized weights, if they are one of its corners.
  kit::PlacedMemory memory_on_device(const quench_model_table& table, const quench_model* model,
                                     bool vectors_there) const override {
    const bool is_wide = kit::same(dtype_of(table, model), kit::kFloat64);
    const uint64_t vector =
        parameter_count(table, model) * (is_wide ? sizeof(double) : sizeof(float));
    const uint64_t spanning = params_.plane == "line" ? 2 : 3;
    const uint64_t plane = spanning + (looks_at_quantized() ? 1 : 0);
    return vectors_there ? kit::PlacedMemory{(2 + spanning) * vector, plane * vector}
                         : kit::PlacedMemory{0, (2 + plane) * vector};
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const quench_subject& subject = evaluation.subject();
    if (kit::same(dtype_of(*subject.table, subject.model), kit::kFloat64)) {
      measure<double>(evaluation, sink);
    } else {
      measure<float>(evaluation, sink);
    }
  }

 private:
  bool looks_at_quantized() const {
    if (params_.plane == "pca") {
      return false;
    }
    return params_.corners.empty() || std::find(params_.corners.begin(), params_.corners.end(),
                                                kQuantized) != params_.corners.end();
  }

  // All sets of weights: corners first, then the other checkpoints of the branch.
  struct Members {
    std::vector<std::string> names;
    std::vector<std::unique_ptr<FlatWeights>> owned;
    std::vector<const FlatWeights*> all;
    void add(std::string name, std::unique_ptr<FlatWeights> weights) {
      names.push_back(std::move(name));
      all.push_back(weights.get());
      owned.push_back(std::move(weights));
    }
  };

  Members members_of(const kit::Evaluation& evaluation) const {
    const quench_model_table& table = *evaluation.subject().table;
    quench_model* model = evaluation.subject().model;
    std::vector<const quench_weights*> trajectory;
    for (const quench_weights& each : evaluation.weights()) {
      if (std::string(each.name) != "float") {
        trajectory.push_back(&each);
      }
    }
    std::vector<std::string> corners = params_.corners;
    if (corners.empty() && params_.plane != "pca") {
      const size_t count = trajectory.size();
      corners = {trajectory.back()->name};
      if (params_.plane == "corners") {
        if (count < 2) {
          kit::fail(QUENCH_FAILED_PRECONDITION,
                    "a plane through the last two checkpoints and the quantized one needs a branch "
                    "of at least 2, got 1");
        }
        corners.emplace_back(trajectory[count - 2]->name);
      }
      corners.push_back(kQuantized);
    }
    Members out;
    for (const std::string& corner : corners) {
      if (corner == kQuantized) {
        out.add(corner, current_weights(table, model));
        continue;
      }
      const auto found =
          std::find_if(trajectory.begin(), trajectory.end(),
                       [&](const quench_weights* each) { return corner == each->name; });
      if (found == trajectory.end()) {
        kit::fail(QUENCH_FAILED_PRECONDITION, "corners: %s is not a checkpoint of the branch",
                  corner.c_str());
      }
      out.add(corner, stored_weights(table, model, **found));
    }
    for (const quench_weights* each : trajectory) {
      if (std::find(corners.begin(), corners.end(), each->name) == corners.end()) {
        out.add(each->name, stored_weights(table, model, *each));
      }
    }
    return out;
  }

  // The loss of the model as it is. All blocks score equally many positions.
  double loss_of(const kit::Evaluation& evaluation) const {
    const quench_tokens& tokens = evaluation.tokens("corpus");
    const auto block = static_cast<uint64_t>(params_.block);
    uint64_t blocks = tokens.offsets[tokens.documents] / block;
    if (params_.blocks > 0) {
      blocks = std::min(blocks, static_cast<uint64_t>(params_.blocks));
    }
    std::vector<uint64_t> starts(blocks + 1);
    for (uint64_t b = 0; b <= blocks; ++b) {
      starts[b] = b * block;
    }
    std::vector<double> nll(blocks * block);
    evaluation.score({sizeof(quench_score_args), 0, blocks, tokens.ids, starts.data(), nullptr,
                      nll.data(), nullptr, nullptr});
    double total = 0;
    for (uint64_t b = 0; b < blocks; ++b) {
      double sum = 0;
      for (uint64_t t = 1; t < block; ++t) {
        sum += nll[b * block + t];
      }
      total += sum / static_cast<double>(block - 1);
    }
    return total / static_cast<double>(blocks);
  }

  void check_corpus(const kit::Evaluation& evaluation) const {
    const quench_tokens& tokens = evaluation.tokens("corpus");
    const uint64_t ids = tokens.offsets[tokens.documents];
    const uint64_t wanted = static_cast<uint64_t>(params_.block) *
                            static_cast<uint64_t>(std::max<int64_t>(params_.blocks, 1));
    if (ids < wanted) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "corpus `%s` is too small: got %llu ids, wanted %llu",
                tokens.corpus, static_cast<unsigned long long>(ids),
                static_cast<unsigned long long>(wanted));
    }
  }

  template <typename T>
  void measure(const kit::Evaluation& evaluation, kit::MetricSink& sink) const {
    check_corpus(evaluation);
    const quench_model_table& table = *evaluation.subject().table;
    quench_model* model = evaluation.subject().model;
    const uint64_t parameters = parameter_count(table, model);
    const Members members = members_of(evaluation);
    const std::vector<Piece> pieces = pieces_of(table, model, kPiece);
    const bool is_line = params_.plane == "line";
    const Plane<T> plane =
        params_.plane == "pca"
            ? principal_plane<T>(members.all, pieces, parameters,
                                 params_.center == "last" ? Center::kLast : Center::kMean)
            : corner_plane<T>(members.all, is_line ? 2 : 3, pieces, parameters);

    PointWeights<T> weights(evaluation.subject(), plane);
    Points<T> points{*this, evaluation, weights, 0, 0};
    std::vector<double> xs;
    std::vector<double> ys;
    grid_of(plane, xs, ys);
    points.total = xs.size() * ys.size() + members.all.size();
    std::vector<std::vector<double>> loss(ys.size());
    std::vector<double> projected;
    try {
      for (size_t j = 0; j < ys.size(); ++j) {
        for (const double x : xs) {
          loss[j].push_back(points.at(x, ys[j]));
        }
      }
      for (const Location& place : plane.places) {
        projected.push_back(points.at(place.at[0], place.at[1]));
      }
    } catch (...) {
      weights.restore();
      throw;
    }
    weights.restore();
    report(sink, members, plane, xs, ys, loss, projected);
  }

  // Losses of points, one after the other. The journal holds the losses of an interrupted attempt.
  template <typename T>
  struct Points {
    const Landscape& metric;
    const kit::Evaluation& evaluation;
    PointWeights<T>& weights;
    uint64_t done;
    uint64_t total;

    double at(double x, double y) {
      kit::check_cancelled();
      const auto* journal = kit::service<quench_journal>(QUENCH_SERVICE_JOURNAL);
      double loss = 0;
      if (journal == nullptr || journal->get(kit::current_host, done, &loss) != QUENCH_OK) {
        weights.set(x, y);
        try {
          loss = metric.loss_of(evaluation);
        } catch (const kit::Error& error) {
          if (error.code() != QUENCH_NUMERICAL) {
            throw;
          }
          loss = std::nan("");
        }
        if (journal != nullptr) {
          journal->put(kit::current_host, done, loss);
        }
      }
      kit::report_progress("landscape points", ++done, total);
      return loss;
    }
  };

  template <typename T>
  void grid_of(const Plane<T>& plane, std::vector<double>& xs, std::vector<double>& ys) const {
    const bool is_line = params_.plane == "line";
    const size_t ends = is_line ? 2 : plane.places.size();  // a line ends at its two corners
    for (size_t axis = 0; axis < 2; ++axis) {
      double low = std::numeric_limits<double>::infinity();
      double high = -low;
      for (size_t i = 0; i < ends; ++i) {
        low = std::min(low, plane.places[i].at[axis]);
        high = std::max(high, plane.places[i].at[axis]);
      }
      const double margin = params_.margin * (high - low);
      (axis == 0 ? xs : ys) = places(low - margin, high + margin, params_.resolution[axis]);
    }
  }

  // The largest rise of the loss on a line above the straight line between the losses at its ends;
  // 0 if it never rises above.
  static double barrier(const std::vector<double>& xs, const std::vector<double>& loss, double end,
                        double first, double last) {
    double out = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double t = xs[i] / end;
      if (t >= 0 && t <= 1 && std::isfinite(loss[i])) {
        out = std::max(out, loss[i] - (first + t * (last - first)));
      }
    }
    return out;
  }

  template <typename T>
  void report(kit::MetricSink& sink, const Members& members, const Plane<T>& plane,
              const std::vector<double>& xs, const std::vector<double>& ys,
              const std::vector<std::vector<double>>& loss,
              const std::vector<double>& projected) const {
    if (params_.plane == "line") {
      sink.value("barrier", barrier(xs, loss[0], plane.places[1].at[0], projected[0], projected[1]),
                 "nats/token", QUENCH_NO_DIRECTION);
    } else {
      double lowest = std::numeric_limits<double>::infinity();
      for (const std::vector<double>& row : loss) {
        for (const double value : row) {
          lowest = std::fmin(lowest, value);
        }
      }
      sink.value("lowest_loss", lowest, "nats/token", QUENCH_NO_DIRECTION);
    }
    sink.json("plane", quoted(params_.plane));
    sink.json("x", list(xs));
    sink.json("y", list(ys));
    std::string rows;
    for (const std::vector<double>& row : loss) {
      rows += (rows.empty() ? "" : ",") + list(row);
    }
    sink.json("loss", "[" + rows + "]");
    std::string points;
    for (size_t i = 0; i < plane.places.size(); ++i) {
      const Location& place = plane.places[i];
      points += (points.empty() ? "{" : ",{") + std::string("\"name\":") +
                quoted(members.names[i]) + ",\"at\":" + list(place.at) +
                ",\"raw\":" + list(place.raw) + ",\"distance\":" + number(place.distance) +
                ",\"loss\":" + number(projected[i]) + "}";
    }
    sink.json("points", "[" + points + "]");
    if (!plane.singular.empty()) {
      double total = 0;
      for (const double value : plane.singular) {
        total += value * value;
      }
      std::vector<double> explained;
      for (const double value : plane.singular) {
        explained.push_back(value * value / total);
      }
      sink.json("singular_values", list(plane.singular));
      sink.json("explained_variance", list(explained));
    } else {
      sink.json("raw_to_at", list(plane.raw_to_at));
    }
  }

  Params params_;
};

}  // namespace

}  // namespace quench::metrics

QUENCH_MODULE("quench.landscape", "0.1.0",
              quench::kit::metric<quench::metrics::Landscape>(
                  {.id = "landscape",
                   .version = "0.1.0",
                   .summary = "The loss on a plane or a line through checkpoints.",
                   .reference = "Li et al. 2018, arXiv 1712.09913"}))
