"""What page.js draws: the figures, point by point."""

from . import look


def page_data(report):
    return {"name": report.run.name, **look.data(),
            "figures": [{"name": figure.name, "panels": [_panel(panel, report.cells) for panel in figure.panels]}
                        for figure in report.figures]}


def _panel(panel, cells):
    return {"x": panel.x_title, "y": panel.y_title, "right": panel.right_title, "strip": panel.strip_title,
            "zero": panel.has_zero, "categories": panel.categories, "rows": panel.rows, "square": panel.is_square, "log": panel.is_log,
            "range": [panel.low, panel.high], "shared": panel.shared, "across": panel.across, "traces": [_trace(trace, cells) for trace in panel.traces]}


def _trace(trace, cells):
    return {"kind": trace.kind, "name": trace.name, "label": trace.label, "color": trace.color, "dash": trace.dash,
            "marker": trace.color if trace.marker < 0 else trace.marker, "x": trace.x, "y": trace.y, "low": trace.low,
            "high": trace.high, "z": trace.z, "texts": trace.texts, "marks": trace.marks,
            "rows": [cells.row_of(it) for it in trace.observations]}
