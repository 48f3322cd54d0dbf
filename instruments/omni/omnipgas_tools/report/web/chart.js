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

// series: [{key, color, dash, points: [{x, y, low, high}]}]; options: {title, x, y, sizes: whether x are sizes}.
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
    group.append(svg("circle", {cx: across(p.x), cy: up(p.y), r: 3, fill: one.color},
      svg("title", {}, `${one.key}, ${at}: ${figureText(p.y)}${interval}`)));
  }
  return group;
}
