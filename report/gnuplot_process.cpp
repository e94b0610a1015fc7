#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/process/child_process.hpp"
#include "report/csv.hpp"
#include "report/gnuplot.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxComplaint = 1u << 20;

// Runs `gnuplot <script>` in `folder` with its output in the file `log`; returns its exit code.
int run_gnuplot(const fs::path& folder, const std::string& script, const fs::path& log) {
  Command command;
  command.words = {"gnuplot", script};
  command.folder = folder;
  command.streams = {ChildStream::file(0, "/dev/null", O_RDONLY),
                     ChildStream::file(1, log.string(), O_WRONLY | O_CREAT | O_TRUNC),
                     ChildStream::copy(2, 1)};
  try {
    return ChildProcess::start(command).wait().code();
  } catch (const std::system_error& error) {
    fail(error.code() == std::errc::no_such_file_or_directory ? QUENCH_NOT_FOUND
                                                              : QUENCH_FAILED_PRECONDITION,
         "gnuplot: cannot be started: {}; it draws pdf, svg and png (Debian: apt-get install "
         "gnuplot-nox), html and csv need nothing",
         error.code().message());
  }
}

// Drops what gnuplot prints before its reason: the command itself.
std::string last_words(const std::string& complaint) {
  return complaint.size() <= 300 ? complaint : complaint.substr(complaint.size() - 300);
}

}  // namespace

fs::path plot_figure(const Figure& figure, const fs::path& folder, PlotFormat format) {
  const std::string data = figure.name + ".csv";
  const std::string script = figure.name + ".gp";
  const std::string output = figure.name + "." + plot_suffix(format);
  write_file_atomically(folder / data, figure_csv(figure));
  write_file_atomically(folder / script, gnuplot_script(figure, data, output, format));
  // Draws under a temporary name: the existing file stays until the new one is complete.
  const std::string tag = "." + std::to_string(getpid()) + ".tmp";
  const fs::path drawn = folder / (output + tag);
  const fs::path to_draw = folder / (script + tag);
  const fs::path log = fs::absolute(folder / (figure.name + ".log" + tag));
  write_file_atomically(to_draw, gnuplot_script(figure, data, output + tag, format));
  std::string complaint;
  int code = 0;
  std::error_code ignored;
  try {
    code = run_gnuplot(folder, to_draw.filename().string(), log);
    complaint = read_file(log, kMaxComplaint);
  } catch (const Error&) {
    fs::remove(to_draw, ignored);
    fs::remove(log, ignored);
    throw;
  }
  fs::remove(to_draw, ignored);
  fs::remove(log, ignored);
  const bool is_drawn = fs::exists(drawn) && fs::file_size(drawn, ignored) > 0;
  if (code != 0 || !is_drawn) {
    fs::remove(drawn, ignored);
    fail(QUENCH_INTERNAL, "gnuplot: {}: {}", (folder / script).string(),
         complaint.empty() ? "it drew nothing" : printable(last_words(complaint), 400));
  }
  fs::rename(drawn, folder / output);
  return folder / output;
}

}  // namespace quench
