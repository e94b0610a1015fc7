#include "report/page.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <regex>

#include "core/io/sha256.hpp"
#include "report/assets.hpp"
#include "report/csv.hpp"
#include "report/html_text.hpp"
#include "report/report.hpp"
#include "tests/report/demo_run.hpp"
#include "tests/report/hostile_run.hpp"

using quench::escape_html;
using quench::page_of;
using quench::Report;

namespace {

constexpr size_t kRoom = 5u << 20;  // bytes of a page beyond plotly.js

Report demo_report() {
  quench::RunRecords run;
  run.records = quench::test::demo_records();
  return make_report(quench::test::demo_documents(), std::move(run));
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

// The page without plotly.js, which holds words of all kinds.
std::string own_part(std::string page) {
  const std::string_view plotly = quench::plotly_script();
  const size_t at = page.find(plotly);
  REQUIRE(at != std::string::npos);
  return page.erase(at, plotly.size());
}

// The data that the page carries.
nlohmann::json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace

TEST_CASE("page: text is escaped, and what is no text becomes visible", "[report]") {
  CHECK(escape_html("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c&#39;");
  CHECK(escape_html("ΔQL\n\tx") == "ΔQL\n\tx");
  CHECK(escape_html(std::string_view("\x01\x7F\0z", 4)) == "���z");
  CHECK(escape_html("ok\xFF\xC3") == "ok��");
}

TEST_CASE("page: data cannot leave its element", "[report]") {
  const nlohmann::json hostile = {"</script><script>", "<!--", "&amp;", "\xE2\x80\xA8"};
  const std::string text = quench::script_json(hostile);
  CHECK(text.find('<') == std::string::npos);
  CHECK(nlohmann::json::parse(text) == hostile);
}

TEST_CASE("page: it is one file that forbids the network and foreign scripts", "[report]") {
  const std::string page = page_of(demo_report());
  CHECK(page.size() < quench::plotly_script().size() + kRoom);
  const std::string own = own_part(page);
  CHECK(own.find("default-src 'none'") != std::string::npos);
  CHECK(own.find("unsafe-eval") == std::string::npos);
  CHECK(own.find("script-src 'sha256-") != std::string::npos);
  CHECK(count(own, "<script") == 3);  // data and two scripts, which the policy names by their hash
  for (const char* word :
       {" src=", "<link", "<iframe", "@import", "url(", " onclick=", " onload="}) {
    CAPTURE(word);
    CHECK(own.find(word) == std::string::npos);
  }
  CHECK(std::string(quench::plotly_script()).find("</script") == std::string::npos);
}

TEST_CASE("page: the policy's hashes are those of the scripts", "[report]") {
  const std::string page = page_of(demo_report());
  std::smatch match;
  const std::string head = page.substr(0, page.find("<title>"));
  REQUIRE(
      std::regex_search(head, match, std::regex("script-src 'sha256-([^']+)' 'sha256-([^']+)'")));
  // Base64 back to hexadecimal digits.
  const auto hex_of = [](const std::string& text) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bits, hex;
    for (const char c : text) {
      for (int bit = 5; bit >= 0 && c != '='; --bit) {
        bits += (digits.find(c) >> bit) & 1 ? '1' : '0';
      }
    }
    for (size_t i = 0; i + 4 <= bits.size() && hex.size() < 64; i += 4) {
      hex += "0123456789abcdef"[std::stoul(bits.substr(i, 4), nullptr, 2)];
    }
    return hex;
  };
  CHECK(hex_of(match[1]) == quench::sha256_hex(quench::plotly_script()));
  CHECK(hex_of(match[2]) == quench::sha256_hex(quench::page_script()));
}

TEST_CASE("page: it holds the figures' data, tables, failures, health and provenance", "[report]") {
  const Report report = demo_report();
  const std::string page = page_of(report);
  const nlohmann::json data = data_of(page);
  REQUIRE(data.at("figures").size() == 5);
  const nlohmann::json& traces = data.at("figures")[0].at("panels")[0].at("traces");
  REQUIRE(traces.size() == report.figures[0].panels[0].traces.size());
  for (size_t t = 0; t < traces.size(); ++t) {
    const quench::Trace& trace = report.figures[0].panels[0].traces[t];
    CHECK(traces[t].at("x").get<std::vector<double>>() == trace.x);
    CHECK(traces[t].at("y").get<std::vector<double>>() == trace.y);
    // Every point leads to a row that is there.
    for (const nlohmann::json& row : traces[t].at("rows")) {
      CHECK(page.find("<tr id=\"r" + row.dump() + "\">") != std::string::npos);
    }
  }
  const std::string own = own_part(page);
  for (const char* words :
       {"the Hessian is not positive definite", "retries in 5 layers", "hf://example/wsd-160m",
        "node17", "gptq against rtn: ΔCE is lower in 59 of 59 pairs", "line 20 of the manifest",
        "<span id=\"m20\">", "Keys of the records", "One training run."}) {
    CAPTURE(words);
    CHECK(own.find(words) != std::string::npos);
  }
}

TEST_CASE("page: hostile names stay names", "[report]") {
  const Report report = quench::test::hostile_report();
  const std::string own = own_part(page_of(report));
  CHECK(count(own, "<script") == 3);
  CHECK(own.find("<img") == std::string::npos);
  CHECK(own.find("onerror=alert(1)>") == std::string::npos);
  const nlohmann::json data = data_of(own);
  CHECK(data.dump().find(quench::test::kHostile) == std::string::npos);  // escaped by JSON itself
  const std::string first = data.at("figures")[0].at("legend")[0].at("text");
  CHECK(first == quench::test::kHostile);
}

TEST_CASE("csv: hostile names stay in their field", "[report]") {
  const Report report = quench::test::hostile_report();
  const std::string csv = figure_csv(report.figures[0]);
  size_t lines = 0;
  for (const quench::Panel& panel : report.figures[0].panels) {
    for (const quench::Trace& trace : panel.traces) {
      lines += trace.x.size();
    }
  }
  CHECK(count(csv, "\n") == lines + 1);
  CHECK(csv.find("</script><img src=x onerror=alert(1)>\"\"quoted\"\" 'single'") !=
        std::string::npos);
}

TEST_CASE("csv: values are written so that they read back the same", "[report]") {
  const Report report = demo_report();
  const std::string csv = figure_csv(report.figures[0]);
  CHECK(csv.starts_with("panel,trace,x,y,low,high,z,kind,panel_title,name,point\n"));
  for (const quench::Trace& trace : report.figures[0].panels[1].traces) {
    for (const double y : trace.y) {
      CHECK(csv.find(fmt::format(",{},", y)) != std::string::npos);
    }
  }
  const std::string table = table_csv(report.cells);
  CHECK(count(table, "\n") == report.cells.rows.size() + 1);
}
