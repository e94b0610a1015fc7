#include "run/study/study_manifest.hpp"

#include <algorithm>
#include <filesystem>

#include "core/config/yaml_text.hpp"
#include "core/error.hpp"
#include "run/study/dialect.hpp"
#include "run/study/revision_groups.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostColumns = 120;

// "prefix[a, b, c]", wrapped; further lines stand below the first element.
std::string wrapped_list(const std::string& prefix, const std::vector<std::string>& texts) {
  const std::string indent(prefix.size() + 1, ' ');
  std::string out;
  std::string line = prefix + "[";
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string item = yaml_scalar(texts[i]) + (i + 1 < texts.size() ? "," : "]");
    if (i > 0 && line.size() + 1 + item.size() > kMostColumns) {
      out += line + "\n";
      line = indent + item;
    } else {
      line += (i > 0 ? " " : "") + item;
    }
  }
  return out + line;
}

// "4", or "[4, 3]" where the file has several values.
std::string numbers(const StudyFile::Axis& axis) {
  std::vector<std::string> texts;
  for (const YamlNode& value : axis.values) {
    if (std::find(texts.begin(), texts.end(), value.scalar) == texts.end()) {
      texts.push_back(value.scalar);
    }
  }
  return texts.size() == 1 ? texts.front() : fmt::format("[{}]", fmt::join(texts, ", "));
}

// The value of a key as its comment shows it, on one line.
std::string shown(const StudyFile::Axis& axis) {
  std::string text = axis.values.front().described();
  if (axis.values.size() > 1) {
    text = fmt::format("{} values", axis.values.size());
  } else if (axis.values.front().is_scalar()) {
    text = printable(axis.values.front().scalar, 60);
  }
  return text;
}

class Writer {
 public:
  Writer(const StudyFile& file, const std::string& from) : file_(file), from_(from) {}

  std::string write() {
    head();
    out_ += fmt::format("name: {}\nseed: 0\n", yaml_scalar(name()));
    if (file_.is_landscape()) {
      out_ += "dtype: float32\n\n";
      landscape();
      return std::move(out_);
    }
    out_ += study_dialect().piece("dtype");
    if (const std::string device = file_.text("device", ""); !device.empty()) {
      out_ += fmt::format("device: {}\n", yaml_scalar(device));
    }
    out_ += "\n";
    sweep();
    return std::move(out_);
  }

 private:
  void head() {
    out_ += fmt::format("# What {} amounts to: {} jobs of the study's code (arXiv 2510.06213).\n",
                        printable(from_, 200), file_.jobs());
    std::string ignored;
    for (const StudyFile::Axis& axis : file_.axes()) {
      const auto why = study_dialect().without_counterpart.find(axis.key);
      if (why != study_dialect().without_counterpart.end()) {
        ignored += fmt::format("#   {}: {}: {}\n", axis.key, shown(axis), why->second);
      }
    }
    if (!ignored.empty()) {
      out_ += "# Without a counterpart:\n" + ignored;
    }
  }

  std::string name() const {
    std::string out = file_.text("wandb_run_name", fs::path(from_).stem().string());
    std::replace(out.begin(), out.end(), '/', '-');
    return out;
  }

  // One branch for each group of revisions, of each model if there are several.
  void branches(const std::string& model, bool several, const std::vector<std::string>& names) {
    const std::string prefix = several ? fs::path(model).filename().string() + " " : "";
    for (const RevisionGroup& group : group_revisions(names)) {
      const std::string branch = prefix + group.name;
      for (const std::string& revision : group.revisions) {
        places_[{model, revision}] = branch + "@" + revision;
      }
      out_ += fmt::format("    {}:\n", yaml_scalar(branch));
      if (several) {
        out_ += fmt::format("      model: {}\n", yaml_scalar(model));
      }
      if (!group.pattern.empty()) {
        out_ += fmt::format("      pattern: {}\n", double_quoted(group.pattern));
      }
      out_ += wrapped_list("      revisions: ", group.revisions) + "\n";
      out_ += group.pattern.empty() ? "      mark: star\n" : "";
    }
  }

  void sweep() {
    std::vector<std::string> models;
    std::vector<std::string> revisions;
    for (size_t job = 0; job < file_.jobs(); ++job) {
      for (const StudyCheckpoint& each : file_.job(job).checkpoints) {
        add_once(models, each.model);
        add_once(revisions, each.revision);
      }
    }
    const bool several = models.size() > 1;
    out_ += "checkpoints:\n";
    if (!several) {
      out_ += fmt::format("  model: {}\n", yaml_scalar(models.front()));
    }
    const std::string tokenizer = file_.text("tokenizer_name", "");
    if (!tokenizer.empty() && (several || models.front() != "hf://" + tokenizer)) {
      out_ += fmt::format("  tokenizer: {}\n", yaml_scalar("hf://" + tokenizer));
    }
    out_ += "  branches:\n";
    for (const std::string& model : models) {
      branches(model, several, revisions);
    }
    averages();
    out_ += "\ncalibration:\n" + calibration(tokenizer) + "\n";
    out_ +=
        study_dialect().piece("quantizers", {{"bits", numbers(*file_.find("q_bits"))},
                                             {"group_size", numbers(*file_.find("group_size"))}});
    out_ += "\n" + study_dialect().piece("metrics", {{"block_size", file_.text("block_size", "")}});
    corpora();
  }

  void averages() {
    std::vector<std::string> written;
    for (size_t job = 0; job < file_.jobs(); ++job) {
      const StudyJob each = file_.job(job);
      if (each.average.empty()) {
        return;
      }
      if (std::find(written.begin(), written.end(), each.average) != written.end()) {
        continue;
      }
      out_ += written.empty() ? "\naveraging:\n" : "";
      written.push_back(each.average);
      std::vector<std::string> members;
      for (const StudyCheckpoint& member : each.checkpoints) {
        members.push_back(places_.at({member.model, member.revision}));
      }
      out_ += study_dialect().piece("average") +
              fmt::format("    label: {}\n", double_quoted(each.average)) +
              wrapped_list("    of: ", members) + "\n";
    }
  }

  std::string calibration(const std::string& tokenizer) const {
    const auto pad = study_dialect().pads.find(tokenizer);
    const std::string batch = file_.text("calibration_batch_size", "");
    return pad != study_dialect().pads.end()
               ? study_dialect().piece(
                     "padded", {{"pad_id", std::to_string(pad->second)}, {"pad_batch", batch}})
               : study_dialect().piece("unpadded", {{"pad_batch", batch}});
  }

  void corpora() {
    const std::string path = file_.text("dataset_path", "");
    std::error_code error;
    const bool here = fs::is_directory(path, error);
    out_ += "\ncorpora:\n" + study_dialect().piece("calibration_corpus");
    out_ += here ? study_dialect().piece(
                       "own_corpus", {{"dataset_path", yaml_scalar(fs::absolute(path).string())}})
                 : study_dialect().piece("public_corpus", {{"dataset_path", printable(path, 200)}});
  }

  // Each folder of float files or of quantized models is a branch, called after its last two parts.
  void landscape() {
    out_ += "checkpoints:\n" + study_dialect().piece("landscape_tokenizer") + "  branches:\n";
    std::vector<std::string> taken;
    for (const std::string& key : study_dialect().landscape) {
      std::vector<std::string> folders;
      for (const YamlNode& value : file_.find(key)->values) {
        add_once(folders, study_path(value.scalar).model);
      }
      for (const std::string& folder : folders) {
        folder_branches(key, folder, taken);
      }
    }
    out_ += "\n" + study_dialect().piece("metrics", {{"block_size", "2048"}});
    out_ += "\ncorpora:\n" +
            study_dialect().piece("public_corpus", {{"dataset_path", "The study's own text"}});
  }

  void folder_branches(const std::string& key, const std::string& folder,
                       std::vector<std::string>& taken) {
    std::vector<std::string> names;
    for (const YamlNode& value : file_.find(key)->values) {
      const StudyCheckpoint place = study_path(value.scalar);
      if (place.model == folder) {
        add_once(names, place.revision);
      }
    }
    for (const RevisionGroup& group : group_revisions(names)) {
      const fs::path path(folder);
      const bool files = group.revisions.front().ends_with(".pth");
      std::string branch = fmt::format("{}/{}{}", path.parent_path().filename().string(),
                                       path.filename().string(), files ? "" : " quantized");
      while (std::find(taken.begin(), taken.end(), branch) != taken.end()) {
        branch += "'";
      }
      taken.push_back(branch);
      out_ += fmt::format("    {}:\n      model: {}\n", yaml_scalar(branch), yaml_scalar(folder));
      out_ += files ? study_dialect().piece("landscape_config") : "";
      if (!group.pattern.empty()) {
        out_ += fmt::format("      pattern: {}\n", double_quoted(group.pattern));
      }
      out_ += wrapped_list("      revisions: ", group.revisions) + "\n";
    }
  }

  static void add_once(std::vector<std::string>& to, const std::string& text) {
    if (std::find(to.begin(), to.end(), text) == to.end()) {
      to.push_back(text);
    }
  }

  const StudyFile& file_;
  const std::string& from_;
  std::map<std::pair<std::string, std::string>, std::string> places_;  // branch@revision
  std::string out_;
};

}  // namespace

std::string study_manifest(const StudyFile& file, const std::string& from) {
  return Writer(file, from).write();
}

}  // namespace quench
