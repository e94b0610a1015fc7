"""The model card README.md of a quantized folder, with the front matter that the hub reads.

The program hands over what it knows as a JSON list on the standard input, one object a folder (cli/quantize.cpp and
cli/export_cards.cpp), and writes the texts that are printed here, a JSON list as well.
"""

import json
import re
import sys

from .run_records import derived
from .texts import printable
from .values import canonical, is_number, member

_MOST = 4096  # bytes of a foreign text
_REPOSITORY = r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+"


def front_matter(values):
    """What is known of {name: text or list of texts}, as YAML: quoted as JSON, which YAML holds."""
    lines = ["---"]
    for name, value in values.items():
        if isinstance(value, list):
            lines += ["%s:" % name, *("- %s" % json.dumps(each) for each in value)] if value else []
        elif value:
            lines.append("%s: %s" % (name, json.dumps(value)))
    return "\n".join([*lines, "---"]) + "\n"


def code(text):
    """A foreign text as code in a cell of a table."""
    return "`%s`" % printable(text, _MOST).replace("`", "'").replace("|", "\\|") if text else ""


def fenced(text, language=""):
    """In a fence longer than any run of backticks inside."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return "%s%s\n%s\n%s\n" % (fence, language, text, fence)


def base_of(model):
    """("org/name", revision) of what lies on a hub, else (None, None)."""
    match = re.fullmatch("hf://(%s)(?:@(.+))?" % _REPOSITORY, model)
    return (match[1], match[2]) if match else (None, None)


def measured(floating, quantized):
    """Lines of a table: each metric of the float and the quantized model, and the error of losses with its interval. A metric that
    compares with the float model has no value of that: None."""
    out = []
    for before, after in zip(floating, quantized):
        if before is None and is_number(after["value"]):
            out.append("| %s | %s |  | %.6g |  |" % (code(after["label"] or after["metric"]), code(after["unit"]), after["value"]))
        elif before is not None and is_number(before["value"]) and is_number(after["value"]):
            out.append("| %s | %s | %.6g | %.6g | %s |" % (code(after["label"] or after["metric"]), code(after["unit"]),
                                                           before["value"], after["value"], _error(before, after)))
    return out


def _error(before, record):
    """"+0.42 % (95 % interval +0.38 % to +0.46 %)"; without numpy the error and its standard error alone."""
    try:
        from .gate.judge import measure  # noqa: PLC0415
        from .status import Error  # noqa: PLC0415

        try:
            found = measure(before, record, ["float", "quantized"])
            low, high = found.limits(0.95)
        except Error:  # no loss, or too little to pair
            return ""
    except ImportError:
        quantized = {**record, "quantizer": record["quantizer"] or {"id": ""}}  # a pair is one float, one quantized value
        found = next((one for one in derived([before, quantized]) if is_number(one["value"]) and is_number(one["stderr"])), None)
        return "%+.3g ± %.2g %%" % (100 * found["value"], 100 * found["stderr"]) if found else ""
    return "%+.3g %% (95 %% interval %+.3g %% to %+.3g %%)" % (100 * found.value, 100 * low, 100 * high)


def card(request):
    base, revision = base_of(request["model"])
    quantizer = request["quantizer"]
    out = front_matter({
        "base_model": base, "base_model_relation": "quantized" if base else None, "quantized_by": "quench",
        "library_name": "transformers", "tags": list(dict.fromkeys(["quench", "quantized", quantizer["id"], request["format"]]))})
    out += "\n# %s\n\n%s quantized by %s (quench %s), written as %s.\n" % (
        printable(request["name"], _MOST), code(request["model"]), code(request["label"]), request["version"], code(request["format"]))
    rows = measured(request["float"], request["quantized"])
    if rows:
        out += "\n| measured | unit | float | quantized | error |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
        out += "\nThe error is ΔQL = L(quantized)/L(float) − 1 of losses and the share of questions lost of accuracies, over the same " \
            "items; the interval covers other items of the text alone.\n"
    settings = {"base": request["model"], "revision": revision, "commit": request["commit"], "quantizer": quantizer["id"],
                "version": quantizer["version"], "SHA-256": quantizer["sha256"], "parameters": canonical(quantizer["params"]),
                "calibration": request["calibration"], "bits a weight": "%.4g" % request["bits_per_weight"],
                "bytes": str(request["bytes"]), "scheme": member(request, "scheme")}
    out += "\n| made with | |\n|---|---|\n"
    out += "".join("| %s | %s |\n" % (name, code(value if isinstance(value, str) else canonical(value)))
                   for name, value in settings.items() if value)
    if member(request, "manifest"):
        return out + "\n## Manifest\n\n" + fenced(request["manifest"].rstrip("\n"), "yaml")
    return out + "\n## Command\n\n" + fenced(printable(request["command"], 1 << 16))


def main():
    json.dump([card(request) for request in json.load(sys.stdin)], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
