"""Where a report comes from: the manifest, plugins, program and machine, the keys of the records."""

import json
import os
import re

from ..analysis.dimensions import value_text
from ..values import canonical, member
from .html_text import escape


def manifest_text(folder):
    """manifest.yaml as the user wrote it, "" without one."""
    path = os.path.join(folder, "manifest.yaml")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def figure_lines(folder):
    """The lines of the user's manifest that ask for figures, in order: entries of the block list `figures` of `report`."""
    lines = manifest_text(folder).splitlines()
    try:
        begin = next(i for i, line in enumerate(lines) if re.match(r"report:\s*(#.*)?$", line))
        begin = next(i for i in range(begin + 1, len(lines)) if re.match(r"\s+figures:\s*(#.*)?$", lines[i]))
    except StopIteration:
        return []
    out, indent = [], None
    for i in range(begin + 1, len(lines)):
        entry = re.match(r"(\s*)- ", lines[i] + " ")
        if entry and indent in (None, len(entry[1])):
            indent = len(entry[1])
            out.append(i + 1)
        elif lines[i].strip() and not lines[i].lstrip().startswith("#") and len(lines[i]) - len(lines[i].lstrip()) <= (indent or 0):
            break
    return out


def _details(title, inside):
    return "<details><summary>%s</summary>%s</details>\n" % (title, inside)


def _json(value):
    return "<pre>%s</pre>" % escape(json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True))


def _manifest_html(text):
    return '<pre class="lines">%s</pre>' % "".join(
        '<span id="m%d">%s\n</span>' % (number, escape(line)) for number, line in enumerate(text.splitlines(), 1))


def _plugins_html(about):
    plugins = member(about, "plugins")
    if not isinstance(plugins, list):
        return ""
    rows = "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % ("" if member(plugin, key) is None else escape(value_text(plugin[key])))
                                           for key in ("kind", "id", "version", "sha256")) for plugin in plugins)
    return _details("Plugins", '<div class="scroll"><table class="sortable"><thead><tr><th>kind</th><th>id</th><th>version</th>'
                    "<th>sha256</th></tr></thead><tbody>%s</tbody></table></div>" % rows)


def _environments_html(observations):
    counts = {}
    for it in observations:
        environment = it.record["environment"]
        if isinstance(environment, dict):
            environment = {name: value for name, value in environment.items() if name != "peak_memory_bytes"}
        text = canonical(environment)
        counts[text] = counts.get(text, 0) + 1
    return _details("Environments", "<ul>%s</ul>" % "".join("<li>%d values: <code>%s</code></li>" % (count, escape(text))
                                                            for text, count in sorted(counts.items())))


def _keys_html(observations):
    lines = []
    for it in observations:
        record = it.record
        if record["key"]:
            words = [value_text(it["checkpoint"])] + ([] if record["averaging"] is None else [value_text(it["averaging"])])
            words.append("float" if it.is_float else value_text(it["label"]))
            words += [] if it.is_base else ["draw %d" % it.draw, "jitter %d" % it.jitter]
            words += [record["metric"]] + ([record["label"]] if record["label"] else [])
            words += ["computed by " + record["cached"]] if record["cached"] else []
            lines.append("%s  %s\n" % (record["key"], ", ".join(words)))
    return _details("Keys of the records", "<pre>%s</pre>" % escape("".join(lines))) if lines else ""


def provenance_html(report):
    """The section `provenance` of a content.Report."""
    run = report.run
    out, text = ['<section id="provenance"><h2>Provenance</h2>'], manifest_text(run.folder)
    if text:
        out.append(_details("Manifest", _manifest_html(text)))
    if run.manifest:
        out.append(_details("Manifest as it was run, with everything that --set changed", _json(run.manifest)))
    out.append(_plugins_html(report.about))
    if isinstance(report.about, dict):
        out.append(_details("Program and machine", _json({name: value for name, value in report.about.items() if name != "plugins"})))
    return "".join(out) + _environments_html(run.observations) + _keys_html(run.observations) + "</section>\n"
