// SPDX-License-Identifier: BSD-3-Clause
// The timeline on its canvas: lanes, messages, the critical path; zoom, motion, what lies under the pointer.
"use strict";

const GUTTER = 74, AXIS = 26, MOST_HEIGHT = 560, LEAST_LANE = 7, MOST_LANE = 34; // CSS pixels
const MOST_MESSAGES = 1500, MOST_OUTLINED = 1500; // drawn one by one
const STACKED = 5; // device pixels of a lane from which on a column is divided; below, its colours are mixed

class TimelineView {
  constructor(lanes, total, words) {
    Object.assign(this, {lanes, total, words});
    this.canvas = document.getElementById("timeline");
    this.overview = document.getElementById("overview");
    this.note = document.getElementById("timeline-note");
    this.hidden = new Set();
    this.show = {path: true, messages: true};
    this.start = 0;
    this.stop = total;
    this.scroll = 0; // CSS pixels of lanes above the visible ones
    this.lane = Math.max(LEAST_LANE, Math.min(MOST_LANE, MOST_HEIGHT / lanes.ranks));
    this.height = Math.min(MOST_HEIGHT, this.lane * lanes.ranks);
    this.canvas.style.height = `${this.height + AXIS}px`;
    this.readColors();
    this.listen();
    this.redraw(true);
  }

  // Colours come from the page's style, so that they follow light and dark.
  readColors() {
    const style = getComputedStyle(document.documentElement);
    this.color = {};
    for (const name of [...KINDS, "empty", "ground", "ink", "soft", "line", "path", "message", "accent"])
      this.color[name] = style.getPropertyValue(`--${name}`).trim();
    const parse = (name) => [1, 3, 5].map((at) => parseInt(this.color[name].slice(at, at + 2), 16));
    this.rgb = [...KINDS, "empty"].map(parse);
  }

  redraw(all = false) {
    this.stale ||= all;
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      if (this.stale) this.drawOverview();
      this.stale = false;
      this.draw();
    });
  }

  // The canvas's width in CSS pixels, its context, and device pixels per CSS pixel; the canvas is made to fit.
  fit(canvas, height) {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return {context, scale, width};
  }

  // --- Drawing

  // Fills a column of an image (device pixels) from `top` on with the kinds' shares, the first at the bottom.
  fill(pixels, width, x, top, height, shares) {
    const opaque = 0xff000000;
    if (height < STACKED) {
      let rest = 1, r = 0, g = 0, b = 0;
      const mix = (color, share) => { r += color[0] * share; g += color[1] * share; b += color[2] * share; };
      shares.forEach((share, k) => {
        if (this.hidden.has(k) || share <= 0) return;
        mix(this.rgb[k], share);
        rest -= share;
      });
      mix(this.rgb[K], Math.max(0, rest));
      const value = (opaque | (b << 16) | (g << 8) | r) >>> 0;
      for (let y = top; y < top + height; ++y) pixels[y * width + x] = value;
      return;
    }
    let y = top + height, level = 0;
    for (let k = 0; k < K; ++k) {
      level += shares[k];
      const to = top + height - Math.round(Math.min(1, level) * height);
      const [r, g, b] = this.rgb[this.hidden.has(k) ? K : k];
      const value = (opaque | (b << 16) | (g << 8) | r) >>> 0;
      while (y > to) pixels[--y * width + x] = value;
    }
    const [r, g, b] = this.rgb[K];
    const value = (opaque | (b << 16) | (g << 8) | r) >>> 0;
    while (y > top) pixels[--y * width + x] = value;
  }

  draw() {
    const {context, scale, width} = this.fit(this.canvas, this.height + AXIS);
    this.plot = width - GUTTER;
    this.perPixel = (this.stop - this.start) / this.plot;
    const [first, last] = this.visible();
    const across = Math.round(this.plot * scale), down = Math.round(this.height * scale);
    const image = context.createImageData(across, down);
    const pixels = new Uint32Array(image.data.buffer);
    const gap = this.lane > 12 ? Math.round(2 * scale) : 1;
    for (let rank = first; rank < last; ++rank) {
      const top = Math.max(0, Math.round(this.top(rank) * scale));
      const height = Math.min(down, Math.round(this.top(rank + 1) * scale)) - top - gap;
      if (height <= 0) continue;
      this.lanes.columns(rank, this.start, (this.stop - this.start) / across, across,
        (x, shares) => this.fill(pixels, across, x, top, height, shares));
    }
    context.putImageData(image, Math.round(GUTTER * scale), 0);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.plot, this.height);
    context.clip();
    const names = this.drawEdges(context, first, last);
    const said = this.drawMessages(context, first, last);
    if (this.show.path) this.drawPath(context);
    for (const {text, x, y, kind} of names) {
      context.fillStyle = this.ink(kind);
      context.fillText(text, x, y);
    }
    if (this.selection) this.drawSelection(context);
    context.restore();
    this.drawLabels(context, first, last);
    this.drawAxis(context);
    this.drawWindow();
    const lanes = last - first < this.lanes.ranks
      ? `, ranks ${first} to ${last - 1} of ${this.lanes.ranks} (drag, or arrow keys, for the others)` : "";
    this.note.textContent =
      `${time(this.stop - this.start)} of ${time(this.total)} shown${lanes}. ${said}${this.show.path ? this.words.pathNote : ""}`;
  }

  visible() {
    return [Math.floor(this.scroll / this.lane),
      Math.min(this.lanes.ranks, Math.ceil((this.scroll + this.height) / this.lane))];
  }
  top(rank) { return rank * this.lane - this.scroll; }
  x(at) { return GUTTER + (at - this.start) / this.perPixel; }
  middle(rank) { return this.top(rank) + this.lane / 2 - 1; }

  // An edge between intervals that are wide enough; returns the names that fit into them.
  drawEdges(context, first, last) {
    const names = [];
    if (this.lane < 14) return names;
    context.textBaseline = "middle";
    context.fillStyle = this.color.ground;
    for (let rank = first; rank < last; ++rank) {
      const from = this.lanes.find(rank, this.start);
      const to = Math.min(this.lanes.find(rank, this.stop, from) + 1, this.lanes.starts[rank + 1]);
      if (to - from > MOST_OUTLINED) continue;
      for (let i = from; i < to; ++i) {
        const right = this.x(this.lanes.end[i]), x = Math.max(this.x(this.lanes.begin(rank, i)), GUTTER) + 5;
        if (right - x < 0) continue;
        context.fillRect(right - .5, this.top(rank), 1, this.lane);
        const kind = this.lanes.activity[i], room = Math.min(right, GUTTER + this.plot) - x - 5;
        if (this.hidden.has(kind) || room < 30) continue;
        const text = this.words.short(i);
        if (context.measureText(text).width <= room) names.push({text, x, y: this.middle(rank) + 1, kind});
      }
    }
    return names;
  }
  // Black or white, whichever reads better on a kind's colour.
  ink(kind) {
    const [r, g, b] = this.rgb[kind];
    return .299 * r + .587 * g + .114 * b > 135 ? "#14171a" : "#ffffff";
  }

  // Lines from sends to ends of receives if they are few; says what was done.
  drawMessages(context, first, last) {
    const [from, to] = this.lanes.messages(this.start, this.stop);
    if (!this.show.messages) return "";
    if (to - from > MOST_MESSAGES) return `${count(to - from)} messages here: zoom in to see them as lines.`;
    context.strokeStyle = context.fillStyle = this.color.message;
    context.lineWidth = 1;
    context.globalAlpha = to - from > 300 ? .45 : .8;
    for (let i = from; i < to; ++i) {
      const {m_sent: sent, m_end: end, m_source: source, m_target: target} = this.lanes;
      if (end[i] < this.start || Math.max(source[i], target[i]) < first || Math.min(source[i], target[i]) >= last) continue;
      const x = this.x(end[i]), y = this.middle(target[i]);
      context.beginPath();
      context.moveTo(this.x(sent[i]), this.middle(source[i]));
      context.lineTo(x, y);
      context.stroke();
      context.fillRect(x - 1.5, y - 1.5, 3, 3);
    }
    context.globalAlpha = 1;
    return to > from ? `${to - from} messages as lines, from the call of the send to the end of the receive.` : "";
  }

  drawPath(context) {
    const steps = this.words.path.filter(([, from, to]) => to >= this.start && from <= this.stop);
    const few = steps.length < this.plot / 8;
    context.lineJoin = "round";
    context.beginPath();
    for (const [rank, from, to] of steps) {
      const y = this.lane < 14 ? this.middle(rank) : this.top(rank + 1) - 6; // not over words
      context.lineTo(this.x(from), y);
      context.lineTo(this.x(to), y);
    }
    context.lineWidth = 4.5;
    context.strokeStyle = this.color.ground;
    if (few) context.stroke();
    context.lineWidth = few ? 2.25 : 1;
    context.strokeStyle = this.color.path;
    context.stroke();
  }

  drawSelection(context) {
    const [a, b] = this.selection;
    context.fillStyle = this.color.accent;
    context.globalAlpha = .25;
    context.fillRect(Math.min(a, b), 0, Math.abs(b - a), this.height);
    context.globalAlpha = 1;
  }

  drawLabels(context, first, last) {
    const every = Math.ceil(15 / this.lane);
    context.fillStyle = this.color.soft;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let rank = first; rank < last; ++rank) {
      if (rank % every === 0 && this.middle(rank) > 0 && this.middle(rank) < this.height)
        context.fillText(this.words.name(rank), GUTTER - 8, Math.max(7, this.middle(rank) + 1));
    }
  }

  drawAxis(context) {
    const step = tickStep(this.stop - this.start, this.plot / 110);
    const begin = Math.ceil(this.start / step) * step;
    const relative = begin / step > 1e4; // else too many digits
    context.strokeStyle = this.color.line;
    context.fillStyle = this.color.soft;
    context.textBaseline = "top";
    context.lineWidth = 1;
    for (let n = 0; begin + n * step <= this.stop; ++n) {
      const at = begin + n * step, x = this.x(at);
      context.beginPath();
      context.moveTo(x, this.height);
      context.lineTo(x, this.height + 5);
      context.stroke();
      const text = relative && n > 0 ? `+ ${time(n * step)}` : tickText(at, step, this.total);
      context.textAlign = x < GUTTER + 20 ? "left" : x > GUTTER + this.plot - 20 ? "right" : "center";
      context.fillText(text, x, this.height + 8);
    }
  }

  // All ranks together over the whole run.
  drawOverview() {
    const {context, scale, width} = this.fit(this.overview, 46);
    const across = Math.round((width - GUTTER) * scale), down = Math.round(40 * scale);
    const sums = Array.from({length: across}, () => new Float64Array(K));
    for (let rank = 0; rank < this.lanes.ranks; ++rank)
      this.lanes.columns(rank, 0, this.total / across, across, (x, shares) => {
        for (let k = 0; k < K; ++k) sums[x][k] += shares[k] / this.lanes.ranks;
      });
    const image = context.createImageData(across, down);
    const pixels = new Uint32Array(image.data.buffer);
    sums.forEach((shares, x) => this.fill(pixels, across, x, 0, down, shares));
    context.putImageData(image, Math.round(GUTTER * scale), 0);
    context.fillStyle = this.color.soft;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("all ranks", GUTTER - 8, 20);
    this.whole = createImageBitmap(this.overview).then((bitmap) => { this.bitmap = bitmap; this.drawWindow(); });
  }

  // What part of the overview the lanes show.
  drawWindow() {
    if (!this.bitmap) return;
    const {context, width} = this.fit(this.overview, 46);
    context.drawImage(this.bitmap, 0, 0, width, 46);
    if (this.start === 0 && this.stop === this.total) return;
    const scale = (width - GUTTER) / this.total, left = GUTTER + this.start * scale, right = GUTTER + this.stop * scale;
    context.fillStyle = this.color.ground;
    context.globalAlpha = .6;
    context.fillRect(GUTTER, 0, left - GUTTER, 40);
    context.fillRect(right, 0, width - right, 40);
    context.globalAlpha = 1;
    context.strokeStyle = this.color.ink;
    context.lineWidth = 2;
    context.strokeRect(left - 1, 1, Math.max(3, right - left + 2), 39);
  }

  // --- Motion

  // Shows a window of time; false if that is what is shown. Nothing smaller than a picosecond a pixel, nothing outside.
  view(start, stop) {
    const length = Math.min(this.total, Math.max(stop - start, 1));
    const from = Math.min(Math.max(0, start), this.total - length);
    if (from === this.start && from + length === this.stop) return false;
    this.start = from;
    this.stop = from + length;
    this.redraw();
    return true;
  }
  zoom(factor, at = (this.start + this.stop) / 2) {
    return this.view(at - (at - this.start) * factor, at + (this.stop - at) * factor);
  }
  pan(pixels) { return this.view(this.start + pixels * this.perPixel, this.stop + pixels * this.perPixel); }
  scrollBy(pixels) {
    const to = Math.max(0, Math.min(this.lane * this.lanes.ranks - this.height, this.scroll + pixels));
    if (to === this.scroll) return false;
    this.scroll = to;
    this.redraw();
    return true;
  }
  timeAt(event) {
    return this.start + (event.clientX - this.canvas.getBoundingClientRect().left - GUTTER) * this.perPixel;
  }

  toggle(kind) {
    if (!this.hidden.delete(kind)) this.hidden.add(kind);
    this.redraw(true);
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener("wheel", (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const moved = event.altKey ? this.scrollBy(event.deltaY)
        : sideways ? this.pan(event.deltaX || event.deltaY) : this.zoom(1.0018 ** event.deltaY, this.timeAt(event));
      if (moved) event.preventDefault(); // else the page scrolls
    }, {passive: false});
    canvas.addEventListener("dblclick", (event) => this.zoom(.25, this.timeAt(event)));
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => (this.grip ? this.drag(event) : this.hover(event)));
    canvas.addEventListener("pointerup", () => this.release());
    canvas.addEventListener("pointercancel", () => this.release());
    canvas.addEventListener("pointerleave", () => hideTip());
    canvas.addEventListener("keydown", (event) => {
      const moves = {ArrowLeft: () => this.pan(-this.plot / 8), ArrowRight: () => this.pan(this.plot / 8),
        ArrowUp: () => this.scrollBy(-4 * this.lane), ArrowDown: () => this.scrollBy(4 * this.lane),
        "+": () => this.zoom(.5), "=": () => this.zoom(.5), "-": () => this.zoom(2), 0: () => this.view(0, this.total)};
      if (event.ctrlKey || event.metaKey || !moves[event.key]) return;
      if (moves[event.key]()) event.preventDefault();
    });
    const seek = (event) => {
      if (!(event.buttons & 1)) return;
      const box = this.overview.getBoundingClientRect(), half = (this.stop - this.start) / 2;
      const at = (event.clientX - box.left - GUTTER) / (box.width - GUTTER) * this.total;
      this.view(at - half, at + half);
    };
    for (const name of ["pointerdown", "pointermove"]) this.overview.addEventListener(name, seek);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColors(); this.redraw(true); });
    new ResizeObserver(() => this.redraw(true)).observe(canvas);
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    this.grip = {x: event.clientX, y: event.clientY};
    if (event.shiftKey) this.selection = [x, x];
    this.canvas.classList.add("moving");
    hideTip();
  }
  drag(event) {
    if (this.selection) {
      this.selection[1] = event.clientX - this.canvas.getBoundingClientRect().left;
      this.redraw();
      return;
    }
    this.pan(this.grip.x - event.clientX);
    this.scrollBy(this.grip.y - event.clientY);
    this.grip = {x: event.clientX, y: event.clientY};
  }
  release() {
    this.grip = null;
    this.canvas.classList.remove("moving");
    if (!this.selection) return;
    const [a, b] = this.selection.map((x) => this.start + (x - GUTTER) * this.perPixel).sort((one, other) => one - other);
    this.selection = null;
    if (b - a > 3 * this.perPixel) this.view(a, b);
    else this.redraw();
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const rank = Math.floor((event.clientY - box.top + this.scroll) / this.lane), at = this.timeAt(event);
    const inside = event.clientX - box.left >= GUTTER && event.clientY - box.top < this.height;
    if (!inside || rank >= this.lanes.ranks) return hideTip();
    const i = this.lanes.find(rank, at);
    if (i === this.lanes.starts[rank + 1]) return showTip(event, `rank ${rank}\n${this.words.after(rank, at)}`);
    const next = this.lanes.find(rank, at + this.perPixel, i);
    const more = next - i > 1 ? `\n${next - i} more intervals in this column of pixels` : "";
    return showTip(event, this.words.long(rank, i, this.lanes.begin(rank, i)) + more);
  }
}
