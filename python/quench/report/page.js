// Unpacks plotly.js, draws the figures from the JSON in the page in place of the static ones, sorts and filters its tables.
"use strict";
(() => {
  let data = null; // until it is unpacked
  let hidden = []; // for each figure the entries of its legend that are off
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 40rem)"); // as in page.css
  const theme = () => scheme.matches
    ? { ink: "#e6e6e6", soft: "#a5a5a5", grid: "#333333", paper: "#161616", key: "dark" }
    : { ink: "#1a1a1a", soft: "#5c5c5c", grid: "#e4e4e4", paper: "#ffffff", key: "light" };
  const at = (list, index) => list[((index % list.length) + list.length) % list.length];
  // plotly reads markup in texts; names are to be shown as they are.
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const kMarks = { star: "star", last: null, circle: "circle", square: "square", diamond: "diamond",
                   triangle: "triangle-up", cross: "cross" };
  const markSymbol = (mark) => (mark in kMarks ? kMarks[mark] : "star");

  // ---- traces

  const color = (trace) => (trace.color < 0 ? theme().ink : at(data.colors, trace.color)[theme().key]);

  function marker(trace) {
    const dense = trace.x.length > 40;
    const own = at(data.colors, trace.marker).marker + (at(data.dashes, trace.dash).open ? "-open" : "");
    const marks = trace.marks.length ? trace.marks : trace.x.map(() => "");
    return {
      symbol: marks.map((mark) => (mark && markSymbol(mark)) || own),
      size: marks.map((mark) => (mark && markSymbol(mark) ? 13 : mark ? 11 : dense ? 4.5 : 7)),
      opacity: 1,
      color: color(trace),
      line: { width: 1.4, color: color(trace) },
    };
  }

  const base = (trace) => ({
    x: trace.x,
    y: trace.y,
    name: plain(trace.name),
    text: trace.texts.map(plain),
    customdata: trace.rows,
    hovertemplate: "<b>%{text}</b>, " + plain(trace.name).replace(/%\{/g, "%&#123;") + "<br>%{y:.5g}<extra></extra>",
    meta: { kind: trace.kind, color: trace.color, dash: trace.dash },
    showlegend: false,
  });

  // A line without markers; a single point of it has one, or it would not be seen.
  const course = (trace, alone) => (trace.x.length > 1 ? { mode: "lines" } : { mode: "markers", marker: alone });

  const draw = {
    line: (trace) => ({ ...base(trace), mode: "lines+markers", marker: marker(trace),
      line: { color: color(trace), width: 1.8, dash: at(data.dashes, trace.dash).dash } }),
    float: (trace) => ({ ...base(trace), ...course(trace, { symbol: "line-ew-open", size: 26, line: { width: 5.5, color: color(trace) } }),
      line: { color: color(trace), width: 5.5 }, opacity: 0.4 }),
    curve: (trace) => ({ ...base(trace), mode: "lines", line: { color: color(trace), width: 1.8, dash: at(data.dashes, trace.dash).dash } }),
    points: (trace) => ({ ...base(trace), mode: "markers", marker: marker(trace) }),
    interval: (trace) => ({
      ...base(trace),
      mode: "markers",
      marker: { symbol: "line-ew-open", size: 9, color: color(trace), line: { width: 1.4, color: color(trace) } },
      error_y: { type: "data", symmetric: false, array: trace.high.map((high, i) => high - trace.y[i]),
        arrayminus: trace.low.map((low, i) => trace.y[i] - low), color: color(trace), thickness: 1.3, width: 4 },
      hovertemplate: "<b>%{text}</b>, " + plain(trace.name).replace(/%\{/g, "%&#123;") +
        "<br>mean %{y:.5g} +%{error_y.array:.2g} \u2212%{error_y.arrayminus:.2g}<extra></extra>",
    }),
    guide: (trace) => ({ ...base(trace), mode: "lines", hoverinfo: "skip", hovertemplate: undefined,
      line: { color: theme().soft, width: trace.label === "no error" ? 1.3 : 0.8, dash: trace.label === "no error" ? "dash" : "solid" } }),
    right: (trace) => ({ ...base(trace), ...course(trace, { size: 5, color: color(trace) }), yaxis: "y2", opacity: 0.7,
      line: { color: color(trace), width: 1.6, dash: "dot" } }),
    strip: (trace) => ({ ...base(trace), ...course(trace, { size: 5, color: color(trace) }), yaxis: "y3",
      line: { color: color(trace), width: 1.6 } }),
    join: (trace) => ({ ...base(trace), mode: "lines", hoverinfo: "skip", hovertemplate: undefined,
      line: { color: color(trace), width: 1, dash: at(data.dashes, trace.dash).dash } }),
    bar: (trace, panel) => ({
      ...base(trace),
      type: "bar",
      textposition: "none",
      offsetgroup: String(trace.color),
      marker: { color: color(trace), line: { width: 1, color: theme().ink },
        pattern: { shape: at(["", "/", "x", "\\", "-"], trace.color), fillmode: "replace", size: 7, solidity: 0.4 } },
      error_y: { type: "data", symmetric: false,
        array: trace.high.map((high, i) => (high > trace.low[i] ? high - trace.y[i] : null)),
        arrayminus: trace.low.map((low, i) => (trace.high[i] > low ? trace.y[i] - low : null)),
        color: theme().ink, thickness: 1.3, width: 4 },
    }),
  };

  // Losses of a landscape; where the loss is not finite there is a hole.
  draw.contour = (trace) => ({
    ...base(trace), type: "contour", z: trace.z, text: undefined, customdata: undefined, ncontours: 24, connectgaps: false,
    colorscale: scheme.matches ? "Viridis" : "YlGnBu", reversescale: !scheme.matches, line: { width: 0.7, color: theme().soft },
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: theme().ink } },
    hovertemplate: "%{x:.4g}, %{y:.4g}<br>loss %{z:.5g}<extra></extra>",
  });

  // Cells by row and column; colours meet at 0 where values have both signs.
  draw.heat = (trace) => ({
    ...base(trace), type: "heatmap", z: trace.z, customdata: undefined, xgap: 1, ygap: 1,
    ...(Math.min(...trace.z) < 0 ? { colorscale: "RdBu", reversescale: false, zmid: 0 } : { colorscale: "Viridis", zmin: 0 }),
    colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: theme().ink } },
    hovertemplate: "<b>%{text}</b><br>%{z:.4g}<extra></extra>",
  });

  // ---- a panel

  const kFont = "system-ui, 'DejaVu Sans', sans-serif";
  const kAbove = 12, kBelow = 48, kNames = 72; // of a plot in pixels; names of categories stand on a slant
  const fontSize = () => (narrow.matches ? 11 : 12.5);
  const pen = document.createElement("canvas").getContext("2d");

  // A title of an axis in lines of at most `room` pixels, about equally long; smaller where a word alone is longer.
  function fitted(title, room, size) {
    const length = (line) => { pen.font = size + "px " + kFont; return pen.measureText(line).width; };
    const filled = (most) => title.split(" ").reduce((lines, word) => {
      const longer = lines.length ? lines.at(-1) + " " + word : "";
      return longer && length(longer) <= most ? [...lines.slice(0, -1), longer] : [...lines, word];
    }, []);
    const count = filled(room).length;
    let most = length(title) / count;
    while (filled(Math.min(most, room)).length > count) {
      most += size / 2;
    }
    const lines = filled(Math.min(most, room));
    const shrunk = Math.min(1, room / Math.max(...lines.map(length)));
    return { text: lines.map(plain).join("<br>"), standoff: 8, font: { size: size * shrunk } };
  }

  function axis(title, extra) {
    return { title: { text: plain(title), standoff: 8 }, gridcolor: theme().grid, linecolor: theme().soft, zerolinecolor: theme().grid,
      tickcolor: theme().soft, ticks: "outside", ticklen: 4, showline: true, mirror: false, exponentformat: "B",
      automargin: true, ...extra };
  }

  // `height` of the plot, in pixels.
  function layout(panel, height) {
    const room = height - kAbove - kBelow - (panel.categories.length ? kNames : 0);
    const size = fontSize();
    const title = (text, share) => ({ title: fitted(text, share * room, 1.2 * size) });
    const out = {
      font: { family: kFont, size, color: theme().ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 56, r: panel.right ? 56 : 16, t: kAbove, b: kBelow },
      hovermode: "closest",
      hoverlabel: { font: { size: 12.5 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: theme().soft, activecolor: theme().ink },
      barmode: "group",
      bargap: 0.3,
      bargroupgap: 0.08,
      xaxis: axis(panel.x, {}),
      yaxis: axis(panel.y, title(panel.y, panel.strip ? 0.7 : 1)),
      annotations: [],
    };
    if (panel.right) {
      out.yaxis2 = axis(panel.right, { ...title(panel.right, 1), overlaying: "y", side: "right", showgrid: false, rangemode: "tozero", tickmode: "auto", nticks: 5, exponentformat: "power" });
    }
    if (panel.zero) {
      Object.assign(out.yaxis, { rangemode: "tozero", zeroline: true, zerolinecolor: theme().soft, zerolinewidth: 1.4 });
    }
    if (panel.strip) {
      out.yaxis.domain = [0.3, 1];
      out.xaxis.anchor = "y3";
      out.yaxis3 = axis(panel.strip, { title: fitted(panel.strip, 0.25 * room, size), domain: [0, 0.2], rangemode: "tozero", nticks: 3, exponentformat: "power" });
    }
    if (panel.categories.length) {
      const every = Math.ceil(panel.categories.length / 24); // more names collide
      out.xaxis.tickvals = panel.categories.map((_, i) => i).filter((i) => i % every === 0);
      out.xaxis.ticktext = out.xaxis.tickvals.map((i) => plain(panel.categories[i]));
      out.xaxis.range = [-0.5, panel.categories.length - 0.5];
      out.yaxis.rangemode = "tozero";
    }
    if (panel.rows.length) {
      Object.assign(out.yaxis, { tickvals: panel.rows.map((_, i) => i), ticktext: panel.rows.map(plain), rangemode: "normal",
        autorange: "reversed" });
    }
    if (panel.across.length) {
      out.xaxis.range = panel.across;
    }
    if (panel.shared.length) {
      out.yaxis.range = panel.shared;
    }
    if (panel.log) {
      out.yaxis = axis(panel.y, { ...title(panel.y, 1), type: "log", exponentformat: "power", dtick: 1 });
    }
    if (panel.square) {
      square(panel, out);
    }
    return out;
  }

  // Both axes over one range, and a label at the end of each guide.
  function square(panel, out) {
    const guides = panel.traces.filter((trace) => trace.kind === "guide");
    out.xaxis.range = panel.range;
    out.yaxis.range = panel.range;
    out.yaxis.scaleanchor = "x";
    out.yaxis.constrain = "domain";
    out.xaxis.constrain = "domain";
    // On the line, just inside the left edge, where the lines are furthest apart; that of the diagonal below its middle, beside the
    // markers that lie on it.
    const middle = (panel.range[0] + panel.range[1]) / 2;
    out.annotations = guides.map((guide) => ({
      text: plain(guide.label), showarrow: false, textangle: -45, font: { size: 11, color: theme().soft },
      ...(guide.label === "no error"
        ? { x: middle, y: middle, xanchor: "center", yanchor: "middle", xshift: 10, yshift: -10 }
        : { x: guide.x[0], y: guide.y[0], xanchor: "left", yanchor: "bottom", xshift: 4, yshift: 2 }),
    }));
  }

  const keysOf = (trace) => [
    ...(trace.color >= 0 ? ["color" + trace.color] : []),
    ...(["line", "interval", "points", "curve", "join"].includes(trace.kind) ? ["dash" + trace.dash] : []),
    ...(trace.kind === "float" ? ["float0"] : []),
    ...(trace.kind === "right" ? ["right0"] : []),
  ];
  const isVisible = (figure, trace) => !keysOf(trace).some((key) => hidden[figure].has(key));

  function drawPanel(node) {
    const figure = Number(node.dataset.figure);
    const panel = data.figures[figure].panels[Number(node.dataset.panel)];
    const traces = panel.traces.map((trace) => ({ ...draw[trace.kind](trace, panel), visible: isVisible(figure, trace) }));
    const config = { responsive: true, displaylogo: false, displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: data.name + "-" + data.figures[figure].name } };
    return Plotly.react(node, traces, layout(panel, node.clientHeight), config).then(() => {
      node.dataset.drawn = panel.traces.reduce((sum, trace) => sum + trace.x.length, 0);
    });
  }

  // A click on a point goes to its row.
  function follow(node) {
    node.on("plotly_click", (event) => {
      const row = event.points[0].customdata;
      if (row !== null && row !== undefined) {
        location.hash = "r" + row;
      }
    });
  }

  // ---- legends: a click hides in all panels what an entry stands for

  function followLegend(node) {
    const figure = Number(node.dataset.figure);
    node.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
      const key = button.dataset.hides;
      hidden[figure].has(key) ? hidden[figure].delete(key) : hidden[figure].add(key);
      button.setAttribute("aria-pressed", String(!hidden[figure].has(key)));
      document.querySelectorAll(`.plot[data-figure="${figure}"]`).forEach(drawPanel);
    }));
  }

  // ---- tables

  function makeSortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        const value = (row) => {
          const cell = row.cells[column];
          const isNumber = cell.classList.contains("n") && cell.textContent !== "";
          return isNumber ? Number(cell.dataset.v ?? cell.textContent) : cell.textContent;
        };
        const compare = (a, b) => {
          if (a === "" || b === "") {
            return (a === "") - (b === ""); // rows with nothing to say go last, whichever way
          }
          return direction * (typeof a === "number" && typeof b === "number"
            ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
        };
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b))));
      });
    });
  }

  function makeFilter(input) {
    const body = input.closest("section").querySelector("tbody");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }

  // A target inside a closed <details> is opened first.
  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = target && target.closest("details");
    if (details) {
      details.open = true;
      target.scrollIntoView({ block: "center" });
    }
  }

  // Five letters for four bytes, from # to w with x in place of <; the last ones are filled up with w.
  function bytesOf(text) {
    const whole = new DataView(new ArrayBuffer(Math.ceil(text.length / 5) * 4));
    for (let at = 0; at < text.length; at += 5) {
      let word = 0;
      for (let i = at; i < at + 5; ++i) {
        const code = i < text.length ? text.charCodeAt(i) : 119;
        word = word * 85 + (code === 120 ? 25 : code - 35);
      }
      whole.setUint32((at / 5) * 4, word);
    }
    return new Uint8Array(whole.buffer, 0, Math.floor((text.length * 4) / 5));
  }

  async function unpacked(id) {
    return new Response(new Blob([bytesOf(document.getElementById(id).textContent)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  const drawAll = () => Promise.all([...document.querySelectorAll(".plot")].map(drawPanel));

  async function drawFigures() {
    const script = document.createElement("script");
    script.textContent = await unpacked("plotly");
    document.head.append(script); // the policy names its hash
    if (!window.Plotly) {
      throw new Error("plotly.js did not run");
    }
    data = JSON.parse(await unpacked("data"));
    hidden = data.figures.map(() => new Set());
    document.body.classList.add("live"); // shows the places of the figures, which then have a size
    await drawAll();
    document.querySelectorAll(".plot").forEach(follow);
    document.querySelectorAll(".legend").forEach(followLegend);
    scheme.addEventListener("change", drawAll);
  }

  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll("input.filter").forEach(makeFilter);
  addEventListener("hashchange", reveal);
  reveal();
  (document.getElementById("plotly") ? drawFigures() : Promise.resolve()).then(
    () => { document.body.dataset.ready = "yes"; },
    (fault) => { // an old browser: the static figures stay
      document.body.classList.remove("live");
      document.body.dataset.ready = "static";
      console.warn(fault);
    });
})();
