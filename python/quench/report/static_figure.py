"""Panels as SVG inside the page: for paper, for browsers that run no script, and for pages that are static."""

import hashlib
import io
import re

from ..analysis.figures.draw import Pen
from ..analysis.figures.style import COLORS
from .html_text import plain

_INK, _PAPER = "#1a1a1b", "#fefefe"  # colours that nothing else has: the page's own stand in their place
_VARIABLES = {_INK: "var(--ink)", _PAPER: "var(--paper)", **{color.lower(): "var(--c%d)" % i for i, color in enumerate(COLORS)}}
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "quench", "font.size": 10,  "text.parse_math": False,
             "axes.facecolor": "none", "savefig.facecolor": "none", "savefig.pad_inches": 0.05,
             **{name: _INK for name in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")}}


def static_panel(panel, palette):
    """One panel by matplotlib, without its title and without a legend, in the colours of the page."""
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(_SETTINGS):
        pen = Pen(palette, {}, ink=_INK, paper=_PAPER, cap=0)
        whole = Figure(figsize=pen.size(panel), layout="constrained")
        FigureCanvasSVG(whole)
        pen.panel(panel, whole.add_subplot(), has_title=False)
        out = io.BytesIO()
        whole.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})  # what lies beside the axes, too
    return _inline(out.getvalue().decode())


def _inline(text):
    """As a part of a page: without a head, without ids that nothing refers to, and with variables for colours."""
    text = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>", "", plain(text[text.index("<svg"):]), flags=re.S)
    text = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg class="drawn" \1>', text, count=1)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub('(?<=[:=][ "])(%s)(?=[;"])' % "|".join(_VARIABLES), lambda found: _VARIABLES[found[0]], text)
    text = re.sub(r"\b([hmp][0-9a-f]{6})[0-9a-f]{4}\b", r"\1", text).replace("xlink:href=", "href=")
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r"(?<=[ \"(]-)\d+\.\d{2,}|(?<=[ \"(])\d+\.\d{2,}", lambda found: "%.4g" % float(found[0]), text)
    text = re.sub(r" (?=\")", "", re.sub(r"\s+(?=[A-Za-z][ \"]|\")", " ", text))
    text = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", path[0]), text)
    text = re.sub(r' clip-path="(url\([^"]*\))"(?: style="([^"]*)")?', r' style="clip-path: \1; \2"', text)
    return _with_classes(_without_plain_groups(re.sub(r"\s*\n\s*(?=<)", "", text)))


def _without_plain_groups(text):
    """Groups that say nothing of what is in them are left out."""
    kept = []

    def tag(found):
        if found[0] == "</g>":
            return found[0] if kept.pop() else ""
        kept.append(found[0] != "<g>")
        return found[0] if kept[-1] else ""
    return re.sub("<g>|<g [^>]*>|</g>", tag, text)


def _with_classes(text):
    """What many elements have for a style stands once, under the name of a class that its content gives."""
    found = re.findall(' style="([^"]*)"', text)
    names = {style: "s" + hashlib.sha256(style.encode()).hexdigest()[:5] for style in dict.fromkeys(found) if found.count(style) > 2}
    text = re.sub(' style="([^"]*)"', lambda use: ' class="%s"' % names[use[1]] if use[1] in names else use[0], text)
    head = text.index(">") + 1
    return "%s<style>%s</style>%s" % (text[:head], "".join(".%s{%s}" % (name, style) for style, name in names.items()), text[head:])
