"""The report as one self-contained HTML page: it includes scripts, styles and data, and its Content-Security-Policy forbids the
browser every connection and every script but its own two."""

import base64
import gzip
import hashlib
import os
import re

from .. import __version__
from ..analysis.dimensions import dimension, value_text
from ..analysis.intervals import KINDS
from ..analysis.sentences import (CAVEATS, alike, heading_of, no_spread, sentence_of, shown_bits_per_byte, shown_value, summary_of,
                                  value_name)
from ..values import canonical, is_number, member
from . import look
from .html_text import escape, packed, script_json
from .page_data import page_data
from .plotly_script import packed_plotly
from .provenance import figure_lines, provenance_html
from .static_figure import static_panel

_MOST_POINTS = 8  # of a sweep, named at the top
_DECIMALS = 4  # of differences in tables, at least
_MOST_ROWS = 4000  # of the table of cells: about 2 MB of page
_MOST_STATIC = 24  # panels of a page that has them beside plotly.js
_MOST_TRACES = 300  # of all of them: two seconds to draw
_HERE = os.path.dirname(os.path.abspath(__file__))


def page_of(report, plotly=None, reload=None):
    """The page of a content.Report; `plotly` is the path of plotly.js, packed, `reload` as of Report.page."""
    library = None if report.is_static else packed_plotly(plotly)
    script = re.sub(r"(?m)^ *(//.*\n)?", "", _asset("page.js"))
    scripts = [gzip.decompress(library), script.encode()] if library else [script.encode()]
    out = [_head(report.title, scripts, reload),
           "<header><h1>%s</h1><p>%s</p></header>\n<main>\n" % (escape(report.title), _summary(report)), _findings_html(report)]
    lines, drawn = figure_lines(report.run.folder), _StaticPanels(report.palette, bool(library))
    lines = lines if len(lines) == len(report.figures) else [0] * len(report.figures)
    out += [_figure_html(report, i, figure, lines[i], drawn)
            for i, figure in enumerate(report.figures) if figure.panels]  # the table of cells is always included
    out += [_contrasts_html(report), _failed_html(report), _health_html(report), _cells_html(report), provenance_html(report)]
    out.append("</main>\n<footer>quench %s</footer>\n" % __version__)
    if library:
        data = gzip.compress(script_json(page_data(report)).encode(), 9, mtime=0)
        out += ['<script type="application/gzip" id="%s">%s</script>\n' % (name, packed(content))
                for name, content in (("data", data), ("plotly", library))]
    out.append("<script>%s</script>\n</body></html>\n" % script)
    return "".join(out)


def _asset(name):
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        return file.read()


def _head(title, scripts, reload):
    hashes = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(script).digest()).decode() for script in scripts]
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src %s; "
            "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n%s'
            '<meta name="color-scheme" content="light dark">\n<title>%s</title>\n<style>%s%s</style></head>\n<body>\n') % (
                " ".join(hashes), '<meta http-equiv="refresh" content="%d">\n' % reload if reload else "", escape(title), look.style(), _asset("page.css"))


def _counted(count, one, several):
    return "%d %s" % (count, one if count == 1 else several)


def _weights_of(it):
    """Points of a sweep have sets of weights of their own, unless the content of these is the same."""
    content = member(it.record["parts"], "weights")
    return it.weights + (canonical(it.record["job"]) if content is None else canonical(content))


def _summary(report):
    all_ = report.run.observations
    out = ", ".join([_counted(len(set(map(_weights_of, all_))), "set of weights", "sets of weights"),
                     _counted(len({value_text(it["label"]) for it in all_ if not it.is_float}), "method", "methods"),
                     _counted(len(all_), "value", "values")])
    failed = len(report.run.failed)
    out += '; <a href="#failed">%d failed</a>.' % failed if failed else "."
    if report.health:
        out += ' <a href="#health">%s to know</a>.' % _counted(len(report.health), "thing", "things")
    return out


def _findings_html(report):
    if not report.findings:
        return ""
    first, *rest = report.findings
    ends = [text for text in rest[-1:] if text in CAVEATS]
    if any(contrast.rows for contrast in report.contrasts):
        summaries = [text for text in map(summary_of, report.contrasts) if text and text != first]
    else:
        summaries = [text for text in rest[:_MOST_POINTS - 1] if text not in ends]
        left = len(rest) - len(ends) - len(summaries)
        summaries += ["... and %d more: quench report %s --json has all." % (left, report.place)] if left else []
    return '<section id="finding"><p class="finding">%s</p>%s</section>\n' % (
        escape(first), "".join("<p>%s</p>" % escape(text) for text in summaries + ends))


class _StaticPanels:
    """Draws panels, of a page with plotly.js only as many as its reader waits for."""

    def __init__(self, palette, is_beside):
        self.palette, self.is_beside, self.panels, self.traces = palette, is_beside, 0, 0

    def html(self, panel):
        self.panels += 1
        self.traces += len(panel.traces)
        if self.is_beside and (self.panels > _MOST_STATIC or self.traces > _MOST_TRACES):
            return '<p class="static">Drawn where scripts run; the tables hold the same numbers.</p>'
        return '<div class="static">%s</div>' % static_panel(panel, self.palette)


def _figure_html(report, index, figure, line, drawn):
    out = ['<figure id="figure-%s"><h2>%s</h2>%s<div class="panels%s">' % (
        escape(figure.name), escape(figure.title), _legend_html(figure, index), " three" if len(figure.panels) % 3 == 0 else "")]
    for p, panel in enumerate(figure.panels):
        plot = '<div class="plot" role="img" aria-label="%s" data-figure="%d" data-panel="%d"></div>' % (
            escape(figure.title + ", " + panel.title), index, p)
        out.append('<div class="panel%s"><h3>%s</h3>%s%s</div>' % (
            " square" if panel.is_square else " many" if panel.has_many else "", escape(panel.title), plot if drawn.is_beside else "", drawn.html(panel)))
    out.append('</div><figcaption>%s <span class="source">Data: <a href="#cells">the cells below</a>; as files: '
               "<code>quench report %s --format csv --figure %s</code>." % (
                   escape(figure.caption), escape(report.place), escape(figure.name)))
    if line:
        out.append(' Set in <a href="#m%d">line %d of the manifest</a>.' % (line, line))
    out.append("</span></figcaption></figure>\n")
    return "".join(out)


def _legend_html(figure, index):
    """What a colour, a dash, a mark is; a click hides it in all panels."""
    out, before = [], None
    for kind, number, text, marker in figure.legend:
        if before not in (None, kind):
            out.append('<span class="gap"></span>')
        before = kind
        inside = look.swatch(kind, number, marker) + escape(text)
        out.append("<span>%s</span>" % inside if kind in ("mark", "note") else
                   '<button type="button" aria-pressed="true" data-hides="%s%d">%s</button>' % (kind, number, inside))
    return '<div class="legend" data-figure="%d">%s</div>' % (index, "".join(out))


def _signed(value, decimals=_DECIMALS):
    """With a real minus sign, as in sentences."""
    return ("%+.*f" % (decimals, value)).replace("-", "−")


def _interval_cell(spread):
    mean, low, high, detectable = alike(spread, least=_DECIMALS)
    decimals = len(mean.partition(".")[2])
    out = '<td class="n" data-v="%r">%s ' % (spread.mean, mean)
    if spread.is_constant:
        return out + "<small>%s: no spread</small></td>" % escape(no_spread(spread))
    out += "[%s, %s] <small>%s</small>" % (low, high, escape(spread.sample))
    if spread.simultaneous:
        out += "<br><small>all %d at once [%s, %s]</small>" % (
            spread.comparisons, *(_signed(end, decimals) for end in spread.simultaneous))
    if detectable:
        out += "<br><small>detectable %s</small>" % detectable.lstrip("+")
    return out + "</td>"


def _row_html(row, kinds, has_bits):
    value, bits = shown_value(row), shown_bits_per_byte(row)
    spreads = {spread.kind: spread for spread in row.spreads}
    of_bits = "<td></td>" if bits is None else '<td class="n" data-v="%r">%s</td>' % (bits, _signed(bits))
    return '<tr><td>%s</td><td class="n" data-v="%r">%s</td>%s%s</tr>' % (
        escape(row.what), value, _signed(value), of_bits if has_bits else "",
        "".join(_interval_cell(spreads[kind]) if kind in spreads else "<td></td>" for kind in kinds))


def _table(headings, rows, classes=""):
    """A table that sorts; headings are (text, whether it has numbers, meaning or "")."""
    heads = "".join("<th%s%s>%s</th>" % (' class="n"' if is_number else "", ' title="%s"' % escape(meaning) if meaning else "",
                                         escape(text)) for text, is_number, meaning in headings)
    return '<div class="scroll%s"><table class="sortable"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>' % (
        classes, heads, "".join(rows))


def _rows_html(contrast):
    """Its rows as a table, without the columns that none of them fills."""
    kinds = [kind for kind in KINDS if any(spread.kind == kind for row in contrast.rows for spread in row.spreads)]
    has_bits = any(shown_bits_per_byte(row) is not None for row in contrast.rows)
    titles = [value_name(contrast.spec), *["bits/byte"] * has_bits, *("over " + kind for kind in kinds)]
    return _table([("where", False, ""), *((title, True, "") for title in titles)],
                  (_row_html(row, kinds, has_bits) for row in contrast.rows))


def _contrasts_html(report):
    if not report.contrasts:
        return ""
    rows = sum(len(contrast.rows) for contrast in report.contrasts)
    out = ['<section id="contrasts"><h2>Contrasts</h2><p>Paired differences of ΔCE in nats per token: negative means that the first '
           "costs less. Intervals are at 95 %, one for each kind of replicate; they are never mixed. " +
           "%s in all: “at once” is the interval that holds for all of them together, “detectable” the smallest effect that 4 of 5 "
           "such samples would have shown.</p>\n" % _counted(rows, "comparison", "comparisons")]
    for contrast in report.contrasts:
        out.append("<h3>%s</h3>" % escape(heading_of(contrast)))
        summary = summary_of(contrast)
        out += ["<p>%s</p>" % escape(summary)] if summary else []
        out += ['<p class="bad">Not compared: %s.</p>' % escape(problem) for problem in contrast.problems]
        if contrast.rows:
            out.append(_rows_html(contrast))
            out.append("<details><summary>In words</summary><ul>%s</ul></details>\n" % "".join(
                "<li>%s</li>" % escape(sentence_of(contrast.spec, row)) for row in contrast.rows))
    return "".join(out) + "</section>\n"


def _failed_html(report):
    if not report.run.failed:
        return ""
    rows = []
    for record in report.run.failed:
        places = [dimension(record, name) for name in ("branch", "checkpoint", "averaging")]
        words = ["" if value is None else value_text(value) for value in places]
        words += ["float" if record["quantizer"] is None else value_text(dimension(record, "label")), record["metric"]]
        rows.append("<tr>%s<td class=\"bad\">%s</td></tr>" % (
            "".join("<td>%s</td>" % escape(word) for word in words), escape(record["error"])))
    headings = [(name, False, "") for name in ("branch", "checkpoint", "averaging", "method", "metric", "error")]
    return '<section id="failed"><h2>Failed cells</h2>%s</section>\n' % _table(headings, rows)


def _health_html(report):
    inside = "<ul>%s</ul>" % "".join("<li>%s</li>" % escape(line) for line in report.health) if report.health else \
        "<p>No method fell back on anything, no file is damaged, no two attempts disagree.</p>"
    return '<section id="health"><h2>Health</h2>%s</section>\n' % inside


def _number_cell(value, text):
    """Rows are sorted by the value, which is left out where it is the text."""
    whole = "%.7g" % value
    text = re.sub(r"(?<!\w)-(?=\d)", "−", text)
    return '<td class="n"%s>%s</td>' % ("" if whole == text else ' data-v="%s"' % whole, escape(text))


def _cells_html(report):
    table, rows = report.cells, []
    for r, row in enumerate(table.rows[:_MOST_ROWS]):
        rows.append('<tr id="r%d">%s</tr>\n' % (r, "".join(
            _number_cell(value, text) if has_numbers and is_number(value) else "<td>%s</td>" % escape(text)
            for (_, has_numbers, _), (value, text) in zip(table.columns, row))))
    more = "" if len(table.rows) <= _MOST_ROWS else \
        "<p>The first %d of %d rows; <code>quench report %s --format csv --figure table</code> writes all.</p>" % (
            _MOST_ROWS, len(table.rows), escape(report.place))
    return ('<section id="cells"><h2>Cells</h2><p><label class="filter">Rows with <input type="search" class="filter" '
            'placeholder="gptq step400" aria-label="filter rows"></label> Click a heading to sort. Draw 0 of each method; ± is half of a '
            "95 %% interval.</p>%s%s</section>\n" % (_table(table.columns, rows, " tall"), more))
