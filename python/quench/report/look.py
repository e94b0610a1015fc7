"""How the page shows colours, dashes and markers: by CSS variables, light and dark, so that figures and legends change together."""

from ..analysis.figures.style import COLORS, DASHES, HATCHES, MARKERS, OPEN_FROM

DARK = ("#4FA8E0", "#F5833B", "#2FC79A", "#E59CC4", "#F5B93A", "#8FD0F7", "#E8E8E8", "#F0E442")  # on black: the same hues, lighter
_NAMES = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down", "p": "pentagon", "P": "cross",
          "h": "hexagon"}  # plotly.js's
_SHAPES = {
    "circle": '<circle cx="15" cy="7" r="4"/>',
    "square": '<rect x="11.5" y="3.5" width="7" height="7"/>',
    "triangle-up": '<path d="M15 2.5l4.5 8h-9z"/>',
    "triangle-down": '<path d="M15 11.5l4.5-8h-9z"/>',
    "diamond": '<path d="M15 2l4.5 5-4.5 5-4.5-5z"/>',
    "pentagon": '<path d="M15 2.5l4.6 3.4-1.8 5.4h-5.6l-1.8-5.4z"/>',
    "hexagon": '<path d="M11 4.7l4-2.3 4 2.3v4.6l-4 2.3-4-2.3z"/>',
    "cross": '<path d="M13.4 2.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2V8.6h-2.9V5.4h2.9z"/>',
    "star": '<path d="M15 1l1.6 4.1 4.4.2-3.4 2.8 1.2 4.2L15 9.9l-3.8 2.4 1.2-4.2L9 5.3l4.4-.2z"/>',
}
_RISING, _FALLING = "M4 13l12-12M10 13l12-12M16 13l10-10M4 7l6-6", "M4 1l12 12M10 1l12 12M16 1l10 10M4 7l6 6"
_HATCHES = {"": "", "//": _RISING, "\\\\": _FALLING, "xx": _RISING + _FALLING, "--": "M4 4h22M4 7h22M4 10h22"}
_MARKS = {"star": "star", "circle": "circle", "square": "square", "diamond": "diamond", "triangle": "triangle-up", "cross": "cross"}
_STROKES = {"solid": "", "dash": "6 4", "dashdot": "6 3 1.5 3", "longdash": "10 4", "longdashdot": "10 3 1.5 3", "dot": "1.5 3"}
_DASHES = tuple(name for name in _STROKES if name != "dot")  # plotly.js's; dotted is the right axis
assert len(_DASHES) == len(DASHES)


def style():
    """CSS that gives --c0, --c1, ... their colours."""
    def rule(colors):
        return ":root { %s }" % " ".join("--c%d: %s;" % each for each in enumerate(colors))
    return "%s\n@media screen and (prefers-color-scheme: dark) { %s }\n" % (rule(COLORS), rule(DARK))


def data():
    """The same for plotly.js."""
    return {"colors": [{"light": light, "dark": dark, "marker": _NAMES[marker]}
                       for light, dark, marker in zip(COLORS, DARK, MARKERS)],
            "dashes": [{"dash": name, "open": i >= OPEN_FROM} for i, name in enumerate(_DASHES)]}


def _shape(marker):
    return _SHAPES[_NAMES[MARKERS[marker % len(MARKERS)]]]


def _stroke(ink, dash="solid", width=1.8):
    return '<path d="M0 7h30" fill="none" stroke="%s" stroke-width="%s" stroke-dasharray="%s"/>' % (ink, width, _STROKES[dash])


def swatch(kind, index, marker):
    """What stands before the text of a legend's entry, as SVG."""
    soft = "var(--soft)"
    if kind == "color" and marker == "bar":
        pattern = _HATCHES[HATCHES[index % len(HATCHES)]]
        inside = '<rect x="4" y="1" width="22" height="12" fill="var(--c%d)"/><path d="%s" stroke="var(--paper)" fill="none"/>' % (
            index % len(COLORS), pattern)
    elif kind == "note":
        inside = '<g fill="%s">%s</g>' % (soft, _SHAPES["circle"])
    elif kind == "color":
        ink = "var(--c%d)" % (index % len(COLORS))
        inside = _stroke(ink) + ('<g fill="%s">%s</g>' % (ink, _shape(marker)) if marker >= 0 else "")
    elif kind == "dash":
        inside = _stroke(soft, _DASHES[index % len(_DASHES)]) + '<g fill="%s" stroke="%s" stroke-width="1.4">%s</g>' % (
            "var(--paper)" if index % len(_DASHES) >= OPEN_FROM else soft, soft, _shape(marker))
    elif kind == "mark":
        is_last = marker == "last"  # drawn larger than the others
        inside = '<g fill="%s"%s>%s</g>' % (soft, ' transform="translate(-3 -1.4) scale(1.2)"' if is_last else "",
                                            _SHAPES["circle" if is_last else _MARKS.get(marker, "star")])
    else:
        inside = '<g opacity="0.6">%s</g>' % _stroke(soft, "solid", 5.5) if kind == "float" else _stroke(soft, "dot")
    return '<svg width="30" height="14" viewBox="0 0 30 14" aria-hidden="true">%s</svg>' % inside
