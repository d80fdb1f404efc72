"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const word = data.words;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const pad = n => String(n).padStart(2, "0");
  const seconds = s => s >= 1 ? +s.toPrecision(3) + " s" : s >= 1e-3 ? +(s * 1e3).toPrecision(3) + " ms"
    : s > 0 ? Math.round(s * 1e6) + " µs" : "0 s";
  const clock = t => {
    const d = new Date(t * 1e3);
    return pad(d.getUTCHours()) + ":" + pad(d.getUTCMinutes()) + ":" + pad(d.getUTCSeconds());
  };

  function plot(d) {
    const place = document.getElementById("plot");
    const vertical = (u, at, name, dash, top = u.bbox.top) => {
      const x = u.valToPos(at, "x", true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
      u.ctx.strokeStyle = colour(name);
      u.ctx.setLineDash(dash.map(n => n * devicePixelRatio));
      u.ctx.beginPath();
      u.ctx.moveTo(x, top);
      u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
      u.ctx.stroke();
    };
    const say = (u, text, at, y) => {
      const x = Math.max(u.valToPos(at, "x", true), u.bbox.left);
      if (x > u.bbox.left + u.bbox.width) return;
      u.ctx.fillStyle = colour("fg");
      u.ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
      u.ctx.textAlign = "left";
      u.ctx.textBaseline = "middle";
      const last = u.bbox.left + u.bbox.width - u.ctx.measureText(text).width;
      u.ctx.fillText(text, Math.min(x + 4 * devicePixelRatio, last), y);
    };
    // What was in force, in the margin above; a label only where it does not run into the one before.
    const lane = u => {
      const right = u.bbox.left + u.bbox.width, high = u.bbox.top - d.lane * devicePixelRatio;
      const row = 15 * devicePixelRatio, free = [u.bbox.left, u.bbox.left];
      const put = (text, at, r) => {
        const x = Math.max(u.valToPos(at, "x", true), u.bbox.left) + 4 * devicePixelRatio;
        u.ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
        const wide = u.ctx.measureText(text).width;
        if (x > right) return;
        const start = Math.max(Math.min(x, right - wide), u.bbox.left);
        if (start < free[r]) return;
        u.ctx.fillStyle = colour("fg");
        u.ctx.textAlign = "left";
        u.ctx.textBaseline = "middle";
        u.ctx.fillText(text, start, high + (r + 0.5) * row);
        free[r] = start + wide + 4 * devicePixelRatio;
      };
      for (const strip of d.strips) {
        const a = Math.max(u.valToPos(strip.start, "x", true), u.bbox.left);
        const b = Math.min(u.valToPos(strip.end, "x", true), right);
        if (b < u.bbox.left || a > right) continue;
        u.ctx.fillStyle = colour("decision");
        u.ctx.globalAlpha = 0.25;
        u.ctx.fillRect(a, high, Math.max(b - a, 2), row);
        u.ctx.globalAlpha = 1;
        vertical(u, strip.start, "decision", [], high);
        if (!strip.open) vertical(u, strip.end, "decision", [], high);
        put(strip.label, strip.start, 0);
      }
      for (const stop of d.stops) {
        vertical(u, stop.at, "warning", [1, 3], high + row);
        put(stop.label, stop.at, 1);
      }
    };
    const marks = u => {
      u.ctx.save();
      u.ctx.lineWidth = devicePixelRatio;
      const right = u.bbox.left + u.bbox.width;
      d.bands.forEach((band, i) => {
        const a = Math.max(u.valToPos(band.start, "x", true), u.bbox.left);
        const b = Math.min(u.valToPos(band.end, "x", true), right);
        if (b < u.bbox.left || a > right) return;
        u.ctx.fillStyle = colour("band");
        u.ctx.globalAlpha = 0.13;
        u.ctx.fillRect(a, u.bbox.top, Math.max(b - a, 2), u.bbox.height);
        u.ctx.globalAlpha = 1;
        vertical(u, band.start, "band", []);
        if (!band.open) vertical(u, band.end, "relief", [2, 3]);
        say(u, band.label, band.start, u.bbox.top + u.bbox.height - (10 + 15 * (i % 3)) * devicePixelRatio);
      });
      for (const at of d.restarts) {
        vertical(u, at, "restart", [7, 4]);
        say(u, word.restart, at, u.bbox.top + 10 * devicePixelRatio);
      }
      lane(u);
      u.ctx.restore();
    };
    const axis = { stroke: () => colour("dim"), grid: { stroke: () => colour("rule"), width: 1 }, ticks: { show: false } };
    const options = {
      width: place.clientWidth, height: 280 + d.lane, padding: [d.lane ? d.lane + 4 : null, null, null, null],
      scales: { x: { time: true }, y: { range: (u, low, high) => [0, d.top] } },
      axes: [
        { ...axis, values: (u, ticks) => ticks.map(clock), space: 76, size: 30, grid: { show: false } },
        { ...axis, values: (u, ticks) => ticks.map(seconds), size: 62 },
      ],
      series: [
        { label: word.time, value: (u, t) => t == null ? "–" : clock(t) },
        { label: word.iteration, stroke: () => colour("line"), width: 1.4, points: { show: false },
          value: (u, s) => s == null ? "–" : seconds(s) },
      ],
      cursor: { y: false },
      hooks: { drawClear: [marks] },
    };
    const drawing = new uPlot(options, [d.times, d.seconds], place);
    new ResizeObserver(() => drawing.setSize({ width: place.clientWidth, height: 280 + d.lane })).observe(place);
    dark.addEventListener("change", () => drawing.redraw());
  }

  // cividis: even in lightness, and the same to colour-blind eyes
  const STOPS = [[0, 34, 78], [33, 59, 110], [76, 85, 108], [108, 110, 114], [143, 136, 118], [180, 163, 109], [218, 191, 91], [255, 234, 70]];
  const shade = level => {
    const at = level / 254 * (STOPS.length - 1), i = Math.min(Math.floor(at), STOPS.length - 2);
    return STOPS[i].map((c, k) => Math.round(c + (STOPS[i + 1][k] - c) * (at - i)));
  };
  const SHADES = Array.from({ length: 255 }, (_, level) => shade(level));

  function image(panel, rows) {
    const columns = panel.spans.length, bytes = atob(panel.cells);
    const canvas = document.createElement("canvas");
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d"), pixels = context.createImageData(columns, rows);
    for (let i = 0; i < columns * rows; i++) {
      const level = bytes.charCodeAt(i);
      if (level === 255) continue;
      pixels.data.set([...SHADES[level], 255], 4 * i);
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }

  function heat(d) {
    const canvas = document.getElementById("heat"), value = document.getElementById("heat-value");
    const rows = d.rows.length, height = Math.min(Math.max(rows * 22, 66), 420), bottom = 18, gap = 4;
    const columns = d.panels.reduce((sum, p) => sum + p.spans.length, 0);
    const answered = d.panels.some(p => p.strips.length || p.stops.length), top = answered ? 28 : 18;
    const images = d.panels.map(p => image(p, rows));
    let boxes = [], left = 60;
    const name = row => d.rows[row] + (rows <= 24 ? " " + [...new Set(d.panels.map(p => p.nodes[row]).filter(Boolean))].join(", ") : "");

    function draw() {
      const width = canvas.clientWidth, ratio = devicePixelRatio || 1, context = canvas.getContext("2d");
      canvas.width = width * ratio;
      canvas.height = (top + height + bottom) * ratio;
      canvas.style.height = top + height + bottom + "px";
      context.scale(ratio, ratio);
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = colour("dim");
      const every = Math.ceil(rows * 14 / height);
      left = 14;
      for (let r = 0; r < rows; r += every) left = Math.max(left, context.measureText(name(r)).width + 10);
      left = Math.min(left, width * 0.3);
      context.textBaseline = "middle";
      context.textAlign = "right";
      for (let r = 0; r < rows; r += every)
        context.fillText(name(r), left - 6, top + (r + 0.5) * height / rows, left - 6);
      context.imageSmoothingEnabled = false;
      const room = width - left - gap * (d.panels.length - 1);
      let x = left;
      boxes = d.panels.map((panel, i) => {
        const w = room * panel.spans.length / columns, box = { panel, x, w };
        context.drawImage(images[i], x, top, w, height);
        context.textAlign = "left";
        context.fillStyle = colour("decision");
        for (const [a, b] of panel.strips)
          context.fillRect(x + a * w / panel.spans.length, top - 8, Math.max((b - a + 1) * w / panel.spans.length, 2), 6);
        context.fillStyle = colour("warning");
        for (const a of panel.stops) context.fillRect(x + a * w / panel.spans.length, top - 8, 2, 6);
        context.fillStyle = colour("dim");
        context.fillText(word.incarnation + " " + panel.incarnation, x, 9, w);
        context.fillText(panel.spans[0][0], x, top + height + bottom / 2 + 2);
        context.textAlign = "right";
        if (w > 90) context.fillText(panel.spans[panel.spans.length - 1][1], x + w, top + height + bottom / 2 + 2);
        x += w + gap;
        return box;
      });
    }

    canvas.addEventListener("pointermove", event => {
      const at = canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top - top;
      const box = boxes.find(b => x >= b.x && x < b.x + b.w), row = Math.floor(y / height * rows);
      if (!box || row < 0 || row >= rows) return;
      const column = Math.min(Math.floor((x - box.x) / box.w * box.panel.spans.length), box.panel.spans.length - 1);
      const [a, b] = box.panel.spans[column];
      const level = atob(box.panel.cells).charCodeAt(row * box.panel.spans.length + column);
      const amount = level === 255 ? word["no-data"] : (level === 254 ? "≥ " : "") + seconds(level / 254 * d.top);
      const force = box.panel.strips.filter(s => s[0] <= column && column <= s[1]).map(s => s[2]);
      const probed = box.panel.stops.includes(column) ? [word.probe] : [];
      value.textContent = [
        word.incarnation + " " + box.panel.incarnation, word.iterations + " " + (a === b ? a : a + "-" + b),
        "rank " + d.rows[row] + (box.panel.nodes[row] ? " " + box.panel.nodes[row] : ""), word.waited + " " + amount,
        ...(force.length ? [word["in-force"] + ": " + force.join(", ")] : []), ...probed,
      ].join("   ");
    });
    const legend = document.getElementById("heat-legend").getContext("2d");
    for (let i = 0; i < 256; i++) {
      legend.fillStyle = "rgb(" + SHADES[Math.min(i, 254)].join(",") + ")";
      legend.fillRect(i, 0, 1, 1);
    }
    new ResizeObserver(draw).observe(canvas.parentElement);
    dark.addEventListener("change", draw);
    addEventListener("beforeprint", draw);
    addEventListener("afterprint", draw);
  }

  addEventListener("beforeprint", () => {
    for (const element of document.querySelectorAll("details")) element.open = true;
  });
  for (const element of document.querySelectorAll(".script")) element.hidden = false;
  if (data.plot) {
    document.getElementById("plot").hidden = false;
    document.getElementById("static-plot").hidden = true;
    plot(data.plot);
  }
  if (data.heat) {
    document.getElementById("heat-table").open = false;
    heat(data.heat);
  }
})();
