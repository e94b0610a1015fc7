#include "cli/sqlite_export.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/parse_number.hpp"
#include "core/store/json_members.hpp"
#include "core/store/record_columns.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class Database {
 public:
  explicit Database(const fs::path& path) : path_(path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    check(code);
    // The file is written once and gets its name when it is complete, so it needs no journal.
    run("PRAGMA journal_mode=OFF; PRAGMA synchronous=FULL; BEGIN");
  }

  void run(const std::string& sql) {
    check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
  }

  void prepare(const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &made, nullptr));
    statement_.reset(made);
  }

  void bind(int column, std::string_view json, ColumnType type) {
    sqlite3_stmt* to = statement_.get();
    const auto text = [&](std::string_view value, bool copy) {
      check(sqlite3_bind_text(to, column, value.data(), static_cast<int>(value.size()),
                              copy ? SQLITE_TRANSIENT : SQLITE_STATIC));
    };
    if (json.empty() || json == "null") {
      check(sqlite3_bind_null(to, column));
    } else if (type == ColumnType::kJson || (type == ColumnType::kText && json[0] != '"')) {
      text(json, false);  // also a number or a flag beside texts
    } else if (json[0] == '"') {
      const std::string_view plain = plain_text(json);
      if (plain.size() + 2 == json.size()) {
        bind_plain(column, plain, type, text);
      } else {
        text(nlohmann::json::parse(json).get<std::string>(), true);
      }
    } else {
      bind_number(column, json);
    }
  }

  void insert() {
    if (sqlite3_step(statement_.get()) != SQLITE_DONE) {
      check(sqlite3_errcode(database_.get()));
    }
    sqlite3_reset(statement_.get());
  }

  void finish() {
    statement_.reset();
    run("COMMIT");
    check(sqlite3_close(database_.release()));
  }

 private:
  template <typename Text>
  void bind_plain(int column, std::string_view plain, ColumnType type, Text text) {
    // SQLite has no NaN: it would store null, which means that there is no value.
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (type == ColumnType::kReal && plain == "Infinity") {
      check(sqlite3_bind_double(statement_.get(), column, kInfinity));
    } else if (type == ColumnType::kReal && plain == "-Infinity") {
      check(sqlite3_bind_double(statement_.get(), column, -kInfinity));
    } else {
      text(plain, false);
    }
  }

  void bind_number(int column, std::string_view json) {
    if (const auto integer = parse_number<int64_t>(json)) {
      check(sqlite3_bind_int64(statement_.get(), column, *integer));
      return;
    }
    check(sqlite3_bind_double(statement_.get(), column, parse_number<double>(json).value_or(0)));
  }

  void check(int code) const {
    if (code != SQLITE_OK) {
      const bool full = code == SQLITE_FULL;
      fail(full ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_FAILED_PRECONDITION, "{}: {}", path_.string(),
           database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code));
    }
  }

  fs::path path_;
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;
};

const char* type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger:
      return "INTEGER";
    case ColumnType::kReal:
      return "REAL";
    default:
      return "TEXT";
  }
}

// Quoted: what a sweep sets has a path for its name.
std::string identifier(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) {
    out.append(c == '"' ? 2 : 1, c);
  }
  return out + "\"";
}

void fill(Database& database, const RunScan& scan, const std::vector<size_t>& lines) {
  const std::vector<RecordColumn> columns = columns_of(scan, lines);
  std::string named;
  std::string marks;
  for (const RecordColumn& column : columns) {
    named += fmt::format("{} {}, ", identifier(column.name), type_name(column.type));
    marks += "?,";
  }
  database.run("CREATE TABLE records (" + named + "items TEXT, details TEXT)");
  database.prepare("INSERT INTO records VALUES (" + marks + "?,?)");
  ColumnReader reader(columns);
  for (const size_t i : lines) {
    const RecordLine& line = scan.lines[i];
    const auto& row = reader.read(line);
    for (size_t c = 0; c < row.size(); ++c) {
      database.bind(static_cast<int>(c) + 1, row[c], columns[c].type);
    }
    const int after = static_cast<int>(row.size());
    database.bind(after + 1, line.field("items"), ColumnType::kJson);
    database.bind(after + 2, line.field("details"), ColumnType::kJson);
    database.insert();
  }
}

}  // namespace

void export_sqlite(const fs::path& path, const RunScan& scan, const std::vector<size_t>& lines) {
  refuse_special_file(path);
  fs::path temporary = path;
  temporary.replace_filename(fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid()));
  ::unlink(temporary.c_str());
  try {
    Database database(temporary);
    fill(database, scan, lines);
    database.finish();
    std::error_code error;
    fs::rename(temporary, path, error);
    if (error) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be replaced: {}", path.string(),
           error.message());
    }
    sync_folder_of(path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace quench
