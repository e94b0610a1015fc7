#include "report/spec.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

const std::vector<std::string> kFigureKinds = {
    "error_vs_tokens", "loss_vs_tokens", "loss_plane", "accuracy_vs_loss",
    "loss_vs_bytes",   "bars",           "contour",    "spectrum",
    "training_loss",   "table"};

std::string advice(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                      : fmt::format("did you mean `{}`?", near);
}

// The value of `node`, one of `choices`; otherwise choices[0] and a problem.
std::string choice(const YamlNode* node, const std::string& where,
                   const std::vector<std::string>& choices, Problems& problems) {
  if (node == nullptr) {
    return choices[0];
  }
  if (node->is_scalar() &&
      std::find(choices.begin(), choices.end(), node->scalar) != choices.end()) {
    return node->scalar;
  }
  const std::string near = node->is_scalar() ? nearest(node->scalar, choices) : "";
  problems.add(node->place, fmt::format("{}: got {}, wanted {}{}", where, node->described(),
                                        fmt::join(choices, ", "),
                                        near.empty() ? "" : "; did you mean `" + near + "`?"));
  return choices[0];
}

std::string read_dimension(const YamlNode& node, const std::string& where, Problems& problems) {
  if (!node.is_scalar()) {
    problems.add(node.place,
                 fmt::format("{}: got {}, wanted a dimension", where, node.described()));
    return "";
  }
  if (!is_dimension(node.scalar)) {
    problems.add(node.place,
                 fmt::format("{}: unknown dimension `{}`; {}", where, printable(node.scalar),
                             advice(node.scalar, dimension_names()) +
                                 " (a parameter of the quantizer is `params.NAME`)"));
    return "";
  }
  return node.scalar;
}

// One dimension or a list of them.
std::vector<std::string> read_dimensions(const YamlNode* node, const std::string& where,
                                         const std::vector<std::string>& otherwise,
                                         Problems& problems) {
  if (node == nullptr) {
    return otherwise;
  }
  std::vector<std::string> out;
  const std::vector<YamlNode> single = {*node};
  for (const YamlNode& item : node->is_sequence() ? node->items : single) {
    if (item.is_null()) {  // an empty `panels:` means none
      continue;
    }
    const std::string name = read_dimension(item, where, problems);
    if (std::find(out.begin(), out.end(), name) != out.end()) {
      problems.add(item.place, fmt::format("{}: `{}` is given twice", where, name));
    } else if (!name.empty()) {
      out.push_back(name);
    }
  }
  return out;
}

// {dimension: value or list of values}
std::vector<Condition> read_conditions(const YamlNode& node, const std::string& where,
                                       Problems& problems) {
  std::vector<Condition> out;
  for (const YamlNode::Member& member : node.members) {
    YamlNode key;
    key.kind = YamlNode::Kind::kScalar;
    key.scalar = member.key;
    key.place = member.key_place;
    const std::string name = read_dimension(key, where, problems);
    const nlohmann::json value = yaml_to_json(member.value);
    const bool is_list = value.is_array() && !value.empty();
    const auto structured = [](const nlohmann::json& item) { return item.is_structured(); };
    if (is_list ? std::any_of(value.begin(), value.end(), structured) : structured(value)) {
      problems.add(member.value.place,
                   fmt::format("{}: `{}`: got {}, wanted a value or a list of values", where,
                               printable(member.key), member.value.described()));
    } else if (!name.empty()) {
      out.emplace_back(name, is_list ? value.get<std::vector<nlohmann::json>>()
                                     : std::vector<nlohmann::json>{value});
    }
  }
  return out;
}

std::string plain_text(MappingReader& reader, const std::string& key) {
  return reader.get(key) != nullptr ? reader.text(key, "") : "";
}

// The name of a figure is also the name of its files.
void read_name(MappingReader& reader, FigureSpec& figure, const std::string& where,
               Problems& problems) {
  figure.name = plain_text(reader, "name");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (const YamlNode* node = reader.get("name"); node != nullptr && node->is_scalar()) {
    if (figure.name.empty() || figure.name.size() > 100 ||
        !std::all_of(figure.name.begin(), figure.name.end(), plain)) {
      problems.add(node->place, fmt::format("{}: name = \"{}\", wanted letters, digits, _ and -",
                                            where, printable(figure.name)));
    }
  }
}

void read_spread(MappingReader& reader, FigureSpec& figure, const std::string& where,
                 Problems& problems) {
  const std::string name = choice(reader.get("spread"), where + ": `spread`",
                                  {"auto", "items", "draws", "jitter", "seeds", "none"}, problems);
  figure.no_spread = name == "none";
  for (const SpreadKind kind : kSpreadKinds) {
    if (name == spread_name(kind)) {
      figure.spread = kind;
    }
  }
}

// The axes of the plane are fixed; the keys may still be written out.
void read_plane_axes(MappingReader& reader, const std::string& where, Problems& problems) {
  choice(reader.get("x"), where + ": `x`", {"float"}, problems);
  choice(reader.get("y"), where + ": `y`", {"quantized"}, problems);
}

void read_options(MappingReader& reader, FigureSpec& figure, const std::string& where,
                  Problems& problems) {
  figure.title = plain_text(reader, "title");
  read_name(reader, figure, where, problems);
  if (const YamlNode* conditions = reader.get("where")) {
    if (conditions->is_mapping()) {
      figure.where = read_conditions(*conditions, where + ": `where`", problems);
    } else {
      problems.add(conditions->place,
                   fmt::format("{}: `where`: got {}, wanted {{dimension: value}}", where,
                               conditions->described()));
    }
  }
  if (figure.kind == FigureKind::kTable || figure.kind == FigureKind::kContour) {
    return;
  }
  if (figure.kind == FigureKind::kTrainingLoss) {
    figure.x = choice(reader.get("x"), where + ": `x`", {"tokens", "step"}, problems);
    return;
  }
  figure.lines = read_dimensions(reader.get("lines"), where + ": `lines`", figure.lines, problems);
  figure.panels =
      read_dimensions(reader.get("panels"), where + ": `panels`", figure.panels, problems);
  if (figure.kind == FigureKind::kLossPlane) {
    read_plane_axes(reader, where, problems);
    figure.range = choice(reader.get("range"), where + ": `range`", {"late", "all"}, problems);
    return;
  }
  if (figure.kind == FigureKind::kAccuracyVsLoss) {
    return;
  }
  if (figure.kind == FigureKind::kSpectrum || figure.kind == FigureKind::kLossVsBytes) {
    figure.at = choice(reader.get("at"), where + ": `at`", {"last", "first", "all"}, problems);
    return;
  }
  read_spread(reader, figure, where, problems);
  if (figure.kind == FigureKind::kBars) {
    figure.y = choice(reader.get("y"), where + ": `y`", {"delta", "error"}, problems);
    figure.at = choice(reader.get("at"), where + ": `at`", {"last", "first", "all"}, problems);
    return;
  }
  figure.x =
      choice(reader.get("x"), where + ": `x`", {"auto", "tokens", "step", "position"}, problems);
  if (figure.kind == FigureKind::kErrorVsTokens) {
    figure.y = choice(reader.get("y"), where + ": `y`", {"error", "delta"}, problems);
  }
  figure.right = plain_text(reader, "right");
  if (figure.right == "none") {
    figure.right.clear();
  }
}

FigureSpec figure_of(FigureKind kind) {
  FigureSpec out;
  out.kind = kind;
  if (kind != FigureKind::kTable && kind != FigureKind::kContour) {
    out.lines = {"branch"};
    out.panels = {"bits"};
  }
  if (kind == FigureKind::kSpectrum || kind == FigureKind::kLossVsBytes) {
    out.panels.clear();
  }
  if (kind == FigureKind::kBars) {
    out.y = "delta";
  }
  return out;
}

// `table` or `{error_vs_tokens: {lines: branch}}`.
std::optional<FigureSpec> read_figure(const YamlNode& node, Problems& problems) {
  const std::string where = "report: figures";
  const bool is_entry = node.is_mapping() && node.members.size() == 1;
  if (!node.is_scalar() && !is_entry) {
    problems.add(node.place,
                 fmt::format("{}: got {}, wanted `kind: {{options}}`", where,
                             node.is_mapping() && !node.members.empty() ? "more than one key"
                                                                        : node.described()));
    return std::nullopt;
  }
  const std::string& name = is_entry ? node.members[0].key : node.scalar;
  const Place& place = is_entry ? node.members[0].key_place : node.place;
  const auto kind = std::find(kFigureKinds.begin(), kFigureKinds.end(), name);
  if (kind == kFigureKinds.end()) {
    problems.add(place, fmt::format("{}: unknown figure `{}`; {}", where, printable(name),
                                    advice(name, kFigureKinds)));
    return std::nullopt;
  }
  FigureSpec out = figure_of(static_cast<FigureKind>(kind - kFigureKinds.begin()));
  out.place = place;
  if (is_entry && !node.members[0].value.is_null()) {
    const std::string here = "report: " + name;
    MappingReader reader(node.members[0].value, here, problems);
    read_options(reader, out, here, problems);
    reader.finish();
  }
  return out;
}

Selector read_selector(const YamlNode* node, const std::string& where, Problems& problems) {
  Selector out;
  if (node == nullptr) {
    return out;
  }
  if (node->is_scalar() && !node->scalar.empty()) {
    out.text = node->scalar;
    out.name = node->scalar;
    out.described = node->scalar;
  } else if (node->is_mapping() && !node->members.empty()) {
    YamlNode conditions = *node;
    std::erase_if(conditions.members, [&](const YamlNode::Member& member) {
      const bool is_name = member.key == "as";
      if (is_name && (!member.value.is_scalar() || member.value.scalar.empty())) {
        problems.add(member.value.place, fmt::format("{}: `as`: got {}, wanted a name", where,
                                                     member.value.described()));
      } else if (is_name) {
        out.name = member.value.scalar;
      }
      return is_name;
    });
    out.conditions = read_conditions(conditions, where, problems);
    std::vector<std::string> words;
    for (const auto& [name, values] : out.conditions) {
      std::vector<std::string> texts;
      for (const nlohmann::json& value : values) {
        texts.push_back(value_text(value));
      }
      words.push_back(fmt::format("{} {}", name, fmt::join(texts, " or ")));
    }
    out.described = fmt::format("{}", fmt::join(words, ", "));
    if (out.name.empty()) {
      out.name = out.described;
    }
  } else {
    problems.add(node->place, fmt::format("{}: got {}, wanted a name or {{dimension: value}}",
                                          where, node->described()));
  }
  return out;
}

constexpr const char* kStatistics[] = {"difference", "largest_over_smallest", "slope_ratio",
                                       "rank_correlation"};

// Which keys go together.
void check_statistic(const ContrastSpec& spec, bool has_b, const YamlNode& node,
                     Problems& problems) {
  const std::string name = statistic_name(spec.statistic);
  const auto refuse = [&](const std::string& what) {
    problems.add(node.place, "report: contrasts: " + what);
  };
  const bool has_axis = !spec.over.empty();
  if (spec.statistic == Statistic::kRankCorrelation ? has_axis == has_b : !has_b) {
    refuse(spec.statistic != Statistic::kRankCorrelation ? "`b` is missing"
           : has_axis ? "rank_correlation: got `b` and `over`, wanted one of them"
                      : "rank_correlation: wanted `b`, or `over` and an axis");
  }
  if (spec.statistic == Statistic::kSlopeRatio && !has_axis) {
    refuse("slope_ratio: wanted `over` and an axis, `over: tokens`");
  }
  if (has_axis && (spec.statistic == Statistic::kDifference ||
                   spec.statistic == Statistic::kLargestOverSmallest)) {
    refuse(fmt::format("`over`: a {} has no axis", name));
  }
  if ((spec.at_equal_loss || spec.b_is_members) && spec.statistic != Statistic::kDifference) {
    refuse(fmt::format("{}: goes with the statistic difference, got {}",
                       spec.at_equal_loss ? "at: equal_loss" : "b: members", name));
  }
  if (spec.at_equal_loss && !spec.of_metric.empty()) {
    refuse(fmt::format("at: equal_loss: compares quantized losses, got of: {}",
                       printable(spec.of_metric)));
  }
  if (spec.at_equal_loss && spec.b_is_members) {
    refuse("b: members: an average and its members are compared as they are, got at: equal_loss");
  }
}

ContrastSpec read_contrast(const YamlNode& node, Problems& problems) {
  const std::string where = "report: contrasts";
  ContrastSpec out;
  out.place = node.place;
  MappingReader reader(node, where, problems);
  out.a = read_selector(reader.require("a"), where + ": `a`", problems);
  const YamlNode* b = reader.get("b");
  out.b_is_members = b != nullptr && b->is_scalar() && b->scalar == "members";
  out.b = read_selector(b, where + ": `b`", problems);
  if (const YamlNode* match = reader.get("match")) {
    out.match = read_dimensions(match, where + ": `match`", {}, problems);
  }
  out.at =
      choice(reader.get("at"), where + ": `at`", {"all", "last", "first", "equal_loss"}, problems);
  out.at_equal_loss = out.at == "equal_loss";
  if (out.at_equal_loss) {
    out.at = "all";
  }
  if (const YamlNode* of = reader.get("of"); of != nullptr && of->is_scalar()) {
    out.of_loss = of->scalar == "loss";
    out.of_metric = out.of_loss || of->scalar == "delta" ? "" : of->scalar;
  } else if (of != nullptr) {
    problems.add(of->place, fmt::format("{}: `of`: got {}, wanted delta, loss or a metric's name",
                                        where, of->described()));
  }
  const std::string statistic = choice(reader.get("statistic"), where + ": `statistic`",
                                       {std::begin(kStatistics), std::end(kStatistics)}, problems);
  out.statistic =
      static_cast<Statistic>(std::find(std::begin(kStatistics), std::end(kStatistics), statistic) -
                             std::begin(kStatistics));
  if (const YamlNode* over = reader.get("over")) {
    out.over = read_dimension(*over, where + ": `over`", problems);
  }
  out.within = reader.number("within", out.within, 0);
  if (!(out.within > 0)) {
    problems.add(node.place, fmt::format("{}: within = {}, wanted more than 0 nats per token",
                                         where, out.within));
  }
  reader.finish();
  if (node.is_mapping()) {
    check_statistic(out, b != nullptr, node, problems);
  }
  if (!out.a.name.empty() && out.a.name == out.b.name) {
    problems.add(node.place, fmt::format("{}: a and b are both {}", where, printable(out.a.name)));
  }
  return out;
}

template <typename Read>
void for_each_entry(const YamlNode& list, const std::string& where, Problems& problems, Read read) {
  if (!list.is_sequence()) {
    problems.add(list.place, fmt::format("{}: got {}, wanted a list", where, list.described()));
  }
  for (const YamlNode& item : list.items) {
    read(item);
  }
}

// Names unnamed figures by their kind, with a number from the second of a kind on.
void name_figures(std::vector<FigureSpec>& figures, Problems* problems) {
  std::vector<std::string> taken;
  for (const FigureSpec& figure : figures) {
    if (figure.name.empty()) {
      continue;
    }
    if (std::find(taken.begin(), taken.end(), figure.name) != taken.end() && problems != nullptr) {
      problems->add(figure.place, fmt::format("report: figures: the name \"{}\" is given twice",
                                              printable(figure.name)));
    }
    taken.push_back(figure.name);
  }
  for (FigureSpec& figure : figures) {
    for (int number = 1; figure.name.empty(); ++number) {
      const std::string name = figure_kind_name(figure.kind) +
                               (number > 1 ? "_" + std::to_string(number) : std::string());
      if (std::find(taken.begin(), taken.end(), name) == taken.end()) {
        figure.name = name;
        taken.push_back(name);
      }
    }
  }
}

}  // namespace

const char* statistic_name(Statistic statistic) {
  return kStatistics[static_cast<size_t>(statistic)];
}

const char* figure_kind_name(FigureKind kind) {
  return kFigureKinds[static_cast<size_t>(kind)].c_str();
}

ReportSpec read_report(const YamlNode& node, Problems& problems) {
  ReportSpec out;
  if (node.is_null()) {
    return default_report();
  }
  MappingReader reader(node, "report", problems);
  out.title = plain_text(reader, "title");
  if (const YamlNode* figures = reader.get("figures")) {
    for_each_entry(*figures, "report: `figures`", problems, [&](const YamlNode& item) {
      if (std::optional<FigureSpec> figure = read_figure(item, problems)) {
        out.figures.push_back(std::move(*figure));
      }
    });
    name_figures(out.figures, &problems);
  } else {
    out.figures = default_report().figures;
  }
  if (const YamlNode* contrasts = reader.get("contrasts")) {
    for_each_entry(*contrasts, "report: `contrasts`", problems, [&](const YamlNode& item) {
      out.contrasts.push_back(read_contrast(item, problems));
    });
  }
  reader.finish();
  return out;
}

ReportSpec default_report() {
  ReportSpec out;
  for (const FigureKind kind :
       {FigureKind::kErrorVsTokens, FigureKind::kLossVsTokens, FigureKind::kLossPlane,
        FigureKind::kAccuracyVsLoss, FigureKind::kBars, FigureKind::kContour, FigureKind::kSpectrum,
        FigureKind::kTrainingLoss, FigureKind::kTable}) {
    out.figures.push_back(figure_of(kind));
    if (kind == FigureKind::kErrorVsTokens || kind == FigureKind::kLossVsTokens) {
      out.figures.back().right = "lr";
    }
  }
  name_figures(out.figures, nullptr);
  return out;
}

}  // namespace quench
