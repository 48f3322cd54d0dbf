// SPDX-License-Identifier: BSD-3-Clause
// A chart: lines with intervals over logarithmic or plain axes, as SVG.
"use strict";

const WIDTH = 460, HEIGHT = 290, LEFT = 58, RIGHT = 26, TOP = 8, BOTTOM = 40;

function svg(tag, attributes = {}, ...children) {
  const out = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
  out.append(...children);
  return out;
}
function sizeText(size) {
  if (size >= 1 << 20 && size % (1 << 20) === 0) return `${size >> 20} MiB`;
  return size >= 1024 && size % 1024 === 0 ? `${size / 1024} KiB` : `${size} B`;
}
const figureText = (value) => value >= 1000 ? Math.round(value).toLocaleString("en") : `${Number(value.toPrecision(3))}`;

// Ticks of an axis: powers of ten, and 2 and 5 times those where there are few.
function logTicks(low, high) {
  const out = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const factor of Math.log10(high / low) < 2.5 ? [1, 2, 5] : [1]) {
      const at = factor * 10 ** power;
      if (at >= low * .999 && at <= high * 1.001) out.push(at);
    }
  return out;
}

// Marks of points, for those who cannot tell the colours apart: each a path around its point.
const R = 3.4;  // half a mark's size
const polygon = (...corners) => (x, y) => `M${corners.map(([a, b]) => `${(x + a * R).toFixed(1)} ${(y + b * R).toFixed(1)}`).join("L")}Z`;
const MARKS = [
  (x, y) => `M${(x - R).toFixed(1)} ${y.toFixed(1)}a${R} ${R} 0 1 0 ${2 * R} 0a${R} ${R} 0 1 0 ${-2 * R} 0Z`,
  polygon([-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]),
  polygon([0, -1.2], [1.1, .8], [-1.1, .8]),
  polygon([0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]),
  polygon([-1.1, -.8], [1.1, -.8], [0, 1.2]),
  polygon([-.4, -1.2], [.4, -1.2], [.4, -.4], [1.2, -.4], [1.2, .4], [.4, .4], [.4, 1.2], [-.4, 1.2], [-.4, .4], [-1.2, .4],
    [-1.2, -.4], [-.4, -.4]),
  polygon([-1.2, -1.2], [0, -.5], [1.2, -1.2], [.5, 0], [1.2, 1.2], [0, .5], [-1.2, 1.2], [-.5, 0]),
  polygon([-1.3, -.6], [1.3, -.6], [1.3, .6], [-1.3, .6]),
];

// A line and its mark, for a legend.
const sample = (one) => svg("svg", {class: "sample", viewBox: "0 0 30 12", "aria-hidden": "true"},
  svg("path", {class: "line", d: "M1 6L29 6", stroke: one.color, "stroke-dasharray": one.dash ?? "none"}),
  svg("path", {d: MARKS[one.mark](15, 6), fill: one.color}));

// series: [{key, color, dash, mark, points: [{x, y, low, high}]}]; options: {title, x, y, sizes: whether x are sizes}.
function chart(series, options) {
  const points = series.flatMap((one) => one.points);
  const figure = element("figure", {}, element("figcaption", {}, options.title));
  if (!points.length) {
    figure.append(element("p", {class: "note"}, "Nothing of this was measured, or all of it is hidden."));
    return figure;
  }
  const xs = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  const low = Math.min(...points.map((p) => p.low ?? p.y)) / 1.15, high = Math.max(...points.map((p) => p.high ?? p.y)) * 1.15;
  const across = (x) => LEFT + (WIDTH - LEFT - RIGHT) *
    (xs.length < 2 ? .5 : Math.log(x / xs[0]) / Math.log(xs.at(-1) / xs[0]));
  const up = (y) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * Math.log(y / low) / Math.log(high / low);
  const out = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": options.title});
  for (const y of logTicks(low, high)) {
    out.append(svg("line", {class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: up(y), y2: up(y)}),
      svg("text", {x: LEFT - 5, y: up(y) + 4, "text-anchor": "end"}, figureText(y)));
  }
  const every = Math.ceil(xs.length / 7);
  xs.forEach((x, i) => {
    if (i % every === 0) out.append(svg("text", {x: across(x), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle"},
      options.sizes ? sizeText(x) : `${x}`));
  });
  out.append(svg("text", {x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle"}, options.x),
    svg("text", {transform: `translate(12 ${HEIGHT / 2}) rotate(-90)`, "text-anchor": "middle"}, options.y));
  for (const one of series) out.append(drawn(one, across, up, options));
  figure.append(out);
  return figure;
}

function drawn(one, across, up, options) {
  const style = {stroke: one.color, "stroke-dasharray": one.dash};
  const group = svg("g", {"data-series": one.key});
  const path = one.points.map((p, i) => `${i ? "L" : "M"}${across(p.x).toFixed(1)} ${up(p.y).toFixed(1)}`).join("");
  group.append(svg("path", {class: "line", d: path, ...style}));
  for (const p of one.points) {
    if (p.low !== undefined) group.append(svg("line",
      {class: "interval", x1: across(p.x), x2: across(p.x), y1: up(p.low), y2: up(p.high), stroke: one.color}));
    const interval = p.low === undefined ? "" : `, 95 % interval ${figureText(p.low)} to ${figureText(p.high)}`;
    const at = options.sizes ? sizeText(p.x) : `${p.x}`;
    group.append(svg("path", {class: "mark", d: MARKS[one.mark](across(p.x), up(p.y)), fill: one.color},
      svg("title", {}, `${one.key}, ${at}: ${figureText(p.y)}${interval}`)));
  }
  return group;
}
