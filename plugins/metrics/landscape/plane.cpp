#include "metrics/landscape/plane.hpp"

#include <algorithm>
#include <cmath>

#include "metrics/shared/symmetric_eigen.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/host.hpp"

namespace quench::metrics {

namespace {

constexpr uint64_t kGrain = 1 << 15;  // elements per task
constexpr uint64_t kPanel = 1 << 11;  // elements of all members that stay in cache
constexpr double kNothing = 1e-9;     // relative to the longest: a shorter vector is zero

// One piece of all members, as rows.
class Panel {
 public:
  Panel(const std::vector<const FlatWeights*>& members, uint64_t longest)
      : members_(members), longest_(longest), values_(members.size() * longest) {}

  void read(const Piece& piece) {
    kit::check_cancelled();
    kit::parallel_for(members_.size(), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) {
        members_[i]->read(piece.first, piece.count, row(i));
      }
    });
  }
  // Subtracts a center from every row: the mean of the rows, or the last row.
  void subtract(Center center, uint64_t count) {
    kit::parallel_for(count, kGrain, [&](uint64_t begin, uint64_t end) {
      for (uint64_t e = begin; e < end; ++e) {
        double middle = row(members_.size() - 1)[e];
        if (center == Center::kMean) {
          middle = 0;
          for (size_t i = 0; i < members_.size(); ++i) {
            middle += row(i)[e];
          }
          middle /= static_cast<double>(members_.size());
        }
        for (size_t i = 0; i < members_.size(); ++i) {
          row(i)[e] -= middle;
        }
      }
    });
  }
  double* row(size_t i) { return values_.data() + i * longest_; }

 private:
  const std::vector<const FlatWeights*>& members_;
  uint64_t longest_;
  std::vector<double> values_;
};

uint64_t longest_of(const std::vector<Piece>& pieces) {
  uint64_t out = 0;
  for (const Piece& piece : pieces) {
    out = std::max(out, piece.count);
  }
  return out;
}

double dot(const double* a, const double* b, uint64_t count) {
  double partial[8] = {};
  uint64_t e = 0;
  for (; e + 8 <= count; e += 8) {
    for (size_t lane = 0; lane < 8; ++lane) {
      partial[lane] += a[e + lane] * b[e + lane];
    }
  }
  for (; e < count; ++e) {
    partial[e % 8] += a[e] * b[e];
  }
  return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
         ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

// Inner products of all pairs of members, measured from a center (kLast: member `origin`).
std::vector<double> gram_of(const std::vector<const FlatWeights*>& members,
                            const std::vector<Piece>& pieces, Center center, const char* what) {
  const size_t n = members.size();
  std::vector<double> gram(n * n, 0.0);
  Panel panel(members, longest_of(pieces));
  uint64_t done = 0;
  for (const Piece& piece : pieces) {
    panel.read(piece);
    panel.subtract(center, piece.count);
    kit::parallel_for(n, 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) {
        for (uint64_t first = 0; first < piece.count; first += kPanel) {
          const uint64_t count = std::min(kPanel, piece.count - first);
          for (uint64_t j = i; j < n; ++j) {
            gram[i * n + j] += dot(panel.row(i) + first, panel.row(j) + first, count);
          }
        }
      }
    });
    kit::report_progress(what, ++done, pieces.size());
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      gram[i * n + j] = gram[j * n + i];
    }
  }
  return gram;
}

// Reads the members once more and passes on, piece by piece, the base and the directions: base =
// the center, direction k = Σ_i mix[k][i] · (member i − center).
template <typename T>
void combine(const std::vector<const FlatWeights*>& members, const std::vector<Piece>& pieces,
             Center center, const std::vector<std::vector<double>>& mix, Plane<T>& plane) {
  const size_t n = members.size();
  Panel panel(members, longest_of(pieces));
  uint64_t done = 0;
  for (const Piece& piece : pieces) {
    panel.read(piece);
    kit::parallel_for(piece.count, kGrain, [&](uint64_t begin, uint64_t end) {
      for (uint64_t e = begin; e < end; ++e) {
        double middle = panel.row(n - 1)[e];
        if (center == Center::kMean) {
          middle = 0;
          for (size_t i = 0; i < n; ++i) {
            middle += panel.row(i)[e];
          }
          middle /= static_cast<double>(n);
        }
        plane.base[piece.first + e] = static_cast<T>(middle);
        for (size_t k = 0; k < mix.size(); ++k) {
          double sum = 0;
          for (size_t i = 0; i < n; ++i) {
            sum += mix[k][i] * (panel.row(i)[e] - middle);
          }
          (k == 0 ? plane.u : plane.v)[piece.first + e] = static_cast<T>(sum);
        }
      }
    });
    kit::report_progress("landscape directions", ++done, pieces.size());
  }
}

template <typename T>
Plane<T> empty_plane(uint64_t parameters, bool is_line) {
  Plane<T> out;
  out.base.resize(parameters);
  out.u.resize(parameters);
  out.v.resize(is_line ? 0 : parameters);
  return out;
}

// Whether the entry of largest magnitude (the first one on ties) is negative.
template <typename T>
bool points_down(const std::vector<T>& direction) {
  const auto largest = std::max_element(direction.begin(), direction.end(),
                                        [](T a, T b) { return std::fabs(a) < std::fabs(b); });
  return largest != direction.end() && *largest < 0;
}

}  // namespace

template <typename T>
Plane<T> principal_plane(const std::vector<const FlatWeights*>& members,
                         const std::vector<Piece>& pieces, uint64_t parameters, Center center) {
  const size_t n = members.size();
  if (n < 3) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "a principal plane needs at least 3 checkpoints on the branch, got %zu", n);
  }
  const std::vector<double> gram = gram_of(members, pieces, center, "landscape Gram matrix");
  const Eigen eigen = symmetric_eigen(gram, n);
  Plane<T> out = empty_plane<T>(parameters, false);
  for (const double value : eigen.values) {
    out.singular.push_back(std::sqrt(std::max(value, 0.0)));
  }
  if (!(out.singular[1] > kNothing * out.singular[0])) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "the checkpoints lie on a line (singular values %g, %g): there is no plane",
              out.singular[0], out.singular[1]);
  }
  std::vector<std::vector<double>> mix(2, std::vector<double>(n));
  for (size_t k = 0; k < 2; ++k) {
    for (size_t i = 0; i < n; ++i) {
      mix[k][i] = eigen.vectors[k * n + i] / out.singular[k];
    }
  }
  combine(members, pieces, center, mix, out);
  std::array<double, 2> sign{1, 1};
  for (size_t k = 0; k < 2; ++k) {
    std::vector<T>& direction = k == 0 ? out.u : out.v;
    if (points_down(direction)) {
      sign[k] = -1;
      std::transform(direction.begin(), direction.end(), direction.begin(), std::negate<T>());
    }
  }
  for (size_t i = 0; i < n; ++i) {
    Location place;
    double inside = 0;
    for (size_t k = 0; k < 2; ++k) {
      place.at[k] = sign[k] * eigen.vectors[k * n + i] * out.singular[k];
      inside += place.at[k] * place.at[k];
    }
    place.raw = place.at;
    place.distance = std::sqrt(std::max(gram[i * n + i] - inside, 0.0));
    out.places.push_back(place);
  }
  return out;
}

template <typename T>
Plane<T> corner_plane(const std::vector<const FlatWeights*>& members, size_t corners,
                      const std::vector<Piece>& pieces, uint64_t parameters) {
  // The origin goes last, because Center::kLast expects it there.
  std::vector<const FlatWeights*> order(members.begin() + 1, members.end());
  order.push_back(members[0]);
  const size_t n = order.size();
  const bool is_line = corners == 2;
  const std::vector<double> gram =
      gram_of(order, pieces, Center::kLast, is_line ? "landscape line" : "landscape plane");
  // Gram-Schmidt on e1 = order[0], e2 = order[1]: u = e1/|e1|, v = (e2 − (e2·u)u)/|...|.
  const double e1 = std::sqrt(gram[0]);
  const double e2 = is_line ? 0 : std::sqrt(gram[n + 1]);
  const double along = is_line ? 0 : gram[1] / e1;
  const double across = is_line ? 0 : std::sqrt(std::max(e2 * e2 - along * along, 0.0));
  if (!(e1 > 0) || (!is_line && !(across > kNothing * std::max(e1, e2)))) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "the corners span no %s: they are equal%s",
              is_line ? "line" : "plane", is_line ? "" : " or lie on a line");
  }
  std::vector<std::vector<double>> mix(is_line ? 1 : 2, std::vector<double>(n, 0.0));
  mix[0][0] = 1 / e1;
  if (!is_line) {
    mix[1][0] = -along / e1 / across;
    mix[1][1] = 1 / across;
  }
  Plane<T> out = empty_plane<T>(parameters, is_line);
  combine(order, pieces, Center::kLast, mix, out);
  out.raw_to_at = {e1, along, 0, is_line ? 1 : across};
  for (size_t m = 0; m < members.size(); ++m) {
    Location place;
    if (m > 0) {
      const size_t i = m - 1;
      const double x = gram[i] / e1;
      const double y = is_line ? 0 : (gram[n + i] - along * x) / across;
      place.at = {x, y};
      place.raw[1] = is_line ? 0 : y / across;
      place.raw[0] = (x - along * place.raw[1]) / e1;
      place.distance = std::sqrt(std::max(gram[i * n + i] - x * x - y * y, 0.0));
    }
    out.places.push_back(place);
  }
  return out;
}

template <typename T>
void weights_at(const Plane<T>& plane, double x, double y, std::span<T> out) {
  kit::parallel_for(plane.base.size(), kGrain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t e = begin; e < end; ++e) {
      double sum = static_cast<double>(plane.base[e]) + x * static_cast<double>(plane.u[e]);
      if (!plane.v.empty()) {
        sum += y * static_cast<double>(plane.v[e]);
      }
      out[e] = static_cast<T>(sum);
    }
  });
}

template Plane<float> principal_plane(const std::vector<const FlatWeights*>&,
                                      const std::vector<Piece>&, uint64_t, Center);
template Plane<double> principal_plane(const std::vector<const FlatWeights*>&,
                                       const std::vector<Piece>&, uint64_t, Center);
template Plane<float> corner_plane(const std::vector<const FlatWeights*>&, size_t,
                                   const std::vector<Piece>&, uint64_t);
template Plane<double> corner_plane(const std::vector<const FlatWeights*>&, size_t,
                                    const std::vector<Piece>&, uint64_t);
template void weights_at(const Plane<float>&, double, double, std::span<float>);
template void weights_at(const Plane<double>&, double, double, std::span<double>);

}  // namespace quench::metrics
