// SPDX-License-Identifier: BSD-3-Clause
// The rest of the page: words, bars, tables. Everything is built as text nodes, for names come from traces.
"use strict";

const NAMES = ["computation", "overhead", "send waiting", "receive waiting"];
const FIELDS = ["compute", "overhead", "send_wait", "recv_wait"];
const CALLS = ["computation", "send", "nonblocking send", "receive", "nonblocking receive", "wait"];
const MOST_BARS = 48, MOST_SITES = 200, MOST_CHANGES = 16;
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

const {prediction} = data;

// --- Words

// Nanoseconds as one says them.
function time(ns, digits = 4) {
  const [unit, name] = UNITS.find(([size]) => Math.abs(ns) >= size) ?? UNITS[3];
  return `${Number((ns / unit).toPrecision(digits))} ${name}`;
}
const seconds = (s) => time(s * 1e9);
const percent = (part) =>
  part > 0 && part < .001 ? "< 0.1 %" : `${(100 * part).toFixed(part > 0 && part < .0995 ? 1 : 0)} %`;
const count = (n) => n.toLocaleString("en");
const total = (row) => FIELDS.reduce((sum, field) => sum + row[field], 0);
const waiting = (row) => row.send_wait + row.recv_wait;

// A round step for about so many ticks in a length.
function tickStep(length, ticks) {
  const rough = length / Math.max(1, ticks), power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
}
function tickText(at, step, whole) {
  if (at === 0) return "0";
  const [unit, name] = UNITS.find(([size]) => whole >= size) ?? UNITS[3];
  return `${(at / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9)))} ${name}`;
}

const swatch = (kind) => element("span", {class: "swatch", style: `background: var(--${kind})`});

// --- The tip at the pointer

const tip = byId("tip");
function hideTip() { tip.hidden = true; }
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const left = event.clientX + 16 + width > innerWidth ? event.clientX - width - 12 : event.clientX + 16;
  const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

// --- Parts of the page

function header() {
  const sum = prediction.per_rank.reduce((all, row) => all + total(row), 0);
  const waits = prediction.per_rank.reduce((all, row) => all + waiting(row), 0);
  const share = (field) => prediction.per_rank.reduce((all, row) => all + row[field], 0) / (sum || 1);
  const program = prediction.input.split("/").filter(Boolean).pop() ?? "";
  document.title = `${program} on ${prediction.machine}`;
  byId("title").textContent = `${program} on ${prediction.machine}`;
  const worst = [...prediction.per_site].sort((a, b) => waiting(b) - waiting(a))[0];
  const where = worst && waiting(worst) > 0
    ? `, most of it at ${worst.where} (${percent(waiting(worst) / waits)} of the waiting)` : "";
  byId("lead").textContent = 
    `Predicted under the model ${data.model} with ${count(prediction.ranks)} ranks, ` +
    `which wait for ${percent(waits / (sum || 1))} of their time${where}. ${data.measured?.text ?? ""}`;
  const {measured} = data;
  const cards = [[seconds(prediction.predicted_seconds), "predicted time"],
    ...(measured ? [[measured.time, "measured"], [measured.error, "error of the prediction"]] : []),
    [count(prediction.messages), `messages, ${count(prediction.rendezvous)} of them synchronized`],
    ...FIELDS.map((field, k) => [percent(share(field)), swatch(KINDS[k]), NAMES[k]])];
  byId("cards").append(...cards.map(([value, ...what]) =>
    element("div", {class: "card"}, element("b", {}, value), element("span", {}, ...what))));
}

function legends(view) {
  for (const legend of document.querySelectorAll("[data-legend]"))
    legend.append(...KINDS.map((kind, k) => {
      const button = element("button", {type: "button", "aria-pressed": "true", "data-kind": kind},
        swatch(kind), NAMES[k]);
      button.addEventListener("click", () => {
        view.toggle(k);
        const on = !view.hidden.has(k);
        for (const same of document.querySelectorAll(`button[data-kind="${kind}"]`)) same.setAttribute("aria-pressed", on);
        document.body.classList.toggle(`no-${kind}`, !on);
      });
      return button;
    }));
}

// A stacked bar; `whole` is its full length.
function bar(row, whole, label, attributes = {class: "bar"}) {
  const out = element("div", {...attributes, role: "img", "aria-label": label});
  FIELDS.forEach((field, k) => {
    const style = `width: ${100 * row[field] / (whole || 1)}%; background: var(--${KINDS[k]})`;
    out.append(element("i", {style, "data-kind": KINDS[k]}));
  });
  const text = `${label}\n${FIELDS.map((field, k) => `${NAMES[k]}: ${seconds(row[field])}`).join("\n")}`;
  out.addEventListener("pointermove", (event) => showTip(event, text));
  out.addEventListener("pointerleave", hideTip);
  return out;
}

function breakdown() {
  const {lanes} = data, group = Math.ceil(lanes.length / MOST_BARS);
  const grid = element("div", {class: lanes.length > 24 ? "bars many" : "bars"});
  const add = (label, some) => {
    const mean = Object.fromEntries(
      FIELDS.map((field) => [field, some.reduce((sum, row) => sum + row[field], 0) / some.length]));
    grid.append(element("span", {}, label), bar(mean, prediction.predicted_seconds, label),
      element("span", {}, seconds(total(mean))));
  };
  if (lanes.length > 1) add("mean", lanes);
  const what = prediction.per_thread ? "threads" : "ranks";
  for (let first = 0; first < lanes.length; first += group) {
    const some = lanes.slice(first, first + group);
    add(some.length > 1 ? `${what} ${first}–${first + some.length - 1}, mean` : some[0].name, some);
  }
  byId("breakdown").append(grid);
}

// Rows of [text or node, key to sort by]; a click on a head sorts.
function table(place, heads, rows, sorted = -1) {
  const body = element("tbody");
  const fill = (column, down) => {
    if (column >= 0) {
      const order = (a, b) => (a[column][1] < b[column][1] ? -1 : a[column][1] > b[column][1] ? 1 : 0);
      rows.sort((a, b) => (down ? order(b, a) : order(a, b)));
    }
    body.replaceChildren(...rows.slice(0, MOST_SITES).map((row) => element("tr", {},
      ...row.map(([content], i) => element("td", heads[i][1] ? {class: "text"} : {}, content)))));
    cells.forEach((cell, i) => cell.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"));
  };
  const cells = heads.map(([name, isText], column) => {
    const button = element("button", {type: "button"}, name);
    button.addEventListener("click", () => fill(column, cells[column].getAttribute("aria-sort") !== "descending"));
    return element("th", {class: isText ? "text" : "", scope: "col"}, button);
  });
  place.replaceChildren(element("thead", {}, element("tr", {}, ...cells)), body);
  fill(sorted, true);
}

function sites() {
  const used = prediction.per_site.filter((row) => total(row) > 0);
  if (used.length === 0) {
    byId("sites-section").hidden = true;
    return;
  }
  const most = Math.max(...used.map(total));
  const rows = used.map((row) => [[row.where, row.where], ...FIELDS.map((field) => [seconds(row[field]), row[field]]),
    [seconds(total(row)), total(row)], [bar(row, most, row.where, {class: "bar thin"}), total(row)]]);
  table(byId("sites"), [["call site", true], ...NAMES.map((name) => [name]), ["sum"], ["", true]], rows, 5);
}

function sensitivity() {
  const found = prediction.sensitivity, section = byId("sensitivity-section");
  section.hidden = !found;
  if (!found) return;
  const parts = Object.entries(prediction.parameters ?? {}).filter(([name]) => name in found && name !== "S")
    .map(([name, value]) => ({name, value, counts: found[name], part: found[name] * value}))
    .filter(({part}) => part !== 0).sort((a, b) => b.part - a.part);
  const grid = element("div", {class: "bars"});
  for (const {name, counts, part} of parts) {
    const isTime = data.units[name] === "s", color = name === "compute" ? "compute" : "overhead";
    const what = name === "compute" ? "computation" : `${name} ${describe(name)}`;
    const fill = element("div", {class: "bar"},
      element("i", {style: `width: ${100 * part / prediction.predicted_seconds}%; background: var(--${color})`}));
    const times = name === "compute" ? "" : `, ${count(Math.round(counts))} ${isTime ? "times" : "bytes"}`;
    grid.append(element("span", {}, what), fill,
      element("span", {class: "value"}, `${seconds(part)} (${percent(part / prediction.predicted_seconds)})${times}`));
  }
  byId("sensitivity").append(grid);
  if (found.S_step) {
    const {S, seconds: change} = found.S_step, better = change < 0;
    byId("sensitivity").append(element("p", {class: "note"},
      `S is a step: with S = ${count(S)} bytes, so that the shortest synchronized message is sent at once, ` +
      `the program would take ${seconds(Math.abs(change))} ${better ? "less" : "more"}.`));
  }
}
const describe = (name) => (data.meanings[name] ? `(${data.meanings[name]})` : "");

function whatIf() {
  const rows = (data.whatif ?? []).slice(0, MOST_CHANGES);
  byId("whatif-section").hidden = rows.length === 0;
  const most = Math.max(...rows.map((row) => Math.abs(row.saves_seconds))), grid = element("div", {class: "bars"});
  for (const {name, saves_seconds: saves} of rows) {
    const better = saves > 0, share = percent(Math.abs(saves) / prediction.predicted_seconds);
    const style = `width: ${100 * Math.abs(saves) / most}%; background: var(--${better ? "compute" : "recv-wait"})`;
    grid.append(element("span", {}, name), element("div", {class: "bar"}, element("i", {style})),
      element("span", {class: "value"}, `${seconds(Math.abs(saves))} ${better ? "less" : "more"} (${share})`));
  }
  byId("whatif").append(grid);
}

function parameters() {
  const intervals = data.parameters.some((row) => row.interval);
  const rows = data.parameters.map((row) => [[row.name, row.name], [row.meaning, row.meaning], [row.value, row.number],
    ...(intervals ? [[row.interval, row.interval]] : [])]);
  table(byId("parameters"), [["name", true], ["meaning", true], ["value"], ...(intervals ? [["95 % interval"]] : [])], rows);
  byId("parameters-note").textContent = data.parameters_note;
}

// What is said of intervals. Units of the prediction are seconds, of the timeline nanoseconds.
function wordsFor(lanes) {
  const where = (site) => (prediction.per_site[site] ?? {where: `line ${site}`}).where;
  const sends = (i) => [1, 2].includes(lanes.call[i]) || lanes.activity[i] === 2;
  // As the program calls it if the trace says so: Allreduce, not the receive that it is made of.
  const named = (i) => prediction.per_site[lanes.site[i]]?.where.match(/^(\w+) in /)?.[1];
  const task = (i) => prediction.per_site[lanes.site[i]]?.where.match(/^task (.*)/)?.[1];
  const call = (i) => named(i) ?? CALLS[lanes.call[i]];
  const about = (i) => [lanes.peer[i] < 0 ? "" : `${sends(i) ? "to" : "from"} rank ${lanes.peer[i]}`,
    lanes.bytes[i] ? `${count(lanes.bytes[i])} bytes` : ""].filter(Boolean).join(", ");
  const what = (i) => {
    if (lanes.activity[i] === 0) return [task(i) ? where(lanes.site[i]) : `before ${where(lanes.site[i])}`];
    return named(i) ? [where(lanes.site[i]), about(i)] : [`${call(i)} ${about(i)}`, where(lanes.site[i])];
  };
  const cut = data.left_out > 0, {last: path = [], steps = 0} = prediction.sensitivity?.critical_path ?? {};
  return {
    path: path.map((step) => [data.lanes.findIndex((lane) => lane.rank === step.rank), step.from * 1e9, step.to * 1e9]),
    pathNote: steps > path.length
      ? ` Of the critical path's ${count(steps)} steps the last ${count(path.length)} are drawn.` : "",
    short: (i) => (lanes.activity[i] === 0 ? task(i) ?? "computation"
      : `${call(i)}${lanes.peer[i] < 0 ? "" : ` ${sends(i) ? "→" : "←"} ${lanes.peer[i]}`}`),
    name: (lane) => data.lanes[lane].name,
    long: (lane, i, begin) => [`${NAMES[lanes.activity[i]]}, ${data.lanes[lane].name}`, ...what(i),
      `${time(lanes.end[i] - begin)}, from ${time(begin, 7)} to ${time(lanes.end[i], 7)}`].filter(Boolean).join("\n"),
    after: (lane) => (cut && lanes.end[lanes.starts[lane + 1] - 1] < total(data.lanes[lane]) * 1e9 * (1 - 1e-9)
      ? "not kept: see below" : "its program has ended"),
  };
}

function warnings() {
  byId("warnings").append(...data.warnings.map((line) => element("li", {}, line)));
  byId("warnings-section").hidden = data.warnings.length === 0;
}

function buttons(view) {
  const click = (id, act) => byId(id).addEventListener("click", act);
  click("zoom-in", () => view.zoom(.5));
  click("zoom-out", () => view.zoom(2));
  click("zoom-all", () => view.view(0, view.total));
  for (const name of ["path", "messages"])
    click(`${name}-toggle`, (event) => {
      view.show[name] = !view.show[name];
      event.target.setAttribute("aria-pressed", view.show[name]);
      view.redraw();
    });
  byId("path-toggle").hidden = view.words.path.length === 0;
}

async function main() {
  header();
  breakdown();
  sites();
  sensitivity();
  whatIf();
  parameters();
  warnings();
  byId("version").textContent = data.version;
  byId("command").textContent = data.command;
  const lanes = new Lanes(await unpack(byId("columns").textContent, data.directory));
  byId("columns").remove(); // its memory
  window.view = new TimelineView(lanes, prediction.predicted_seconds * 1e9, wordsFor(lanes));
  legends(view);
  buttons(view);
  document.documentElement.dataset.ready = "yes";
}

main();
