// SPDX-License-Identifier: BSD-3-Clause
// The page of omni report: what is chosen, and the figures and tables of it. One result file, or two side by side.
"use strict";

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b"];
const DASHES = {put: "none", putsignal: "8 3 2 3", putonly: "2 3", sendrecv: "6 3"};
const SMALL = 4096;  // bytes: the papers' figures of latency end there
const MOST = 8;  // lines of a figure at first
const NEAR = 1.1;  // times the lowest latency: whoever takes longer is not tied, however wide the intervals are

const {files} = data;
const keyOf = (row) => `${row.library} ${row.op}`;
const good = (rows) => rows.filter((row) => row.status === "ok" && row.threads !== null);
const measured = (rows) => good(rows).filter((row) => row.bench !== "memory");  // in time
const all = measured(files.flatMap((file) => file.results));
const unique = (values) => [...new Set(values)];
const ascending = (values) => unique(values).sort((a, b) => a - b);
const keys = unique(all.map(keyOf)), libraries = unique(all.map((row) => row.library));
const pings = all.filter((row) => row.bench === "pingpong");
const chosen = {
  keys: new Set(), off: new Set(), threads: new Set(all.map((row) => row.threads)),
  smallest: Math.min(...pings.map((row) => row.size)), largest: Math.max(...pings.map((row) => row.size)),
  one: libraries.find((name) => name === "ompl") ?? libraries[0],
};
// The same colour comes again with another mark.
const styleOf = (number) => ({color: COLORS[number % COLORS.length],
  mark: (number + Math.floor(number / COLORS.length)) % MARKS.length});
const look = (key) => ({...styleOf(libraries.indexOf(key.slice(0, key.lastIndexOf(" ")))), dash: dash(key)});
const dash = (key) => DASHES[key.slice(key.lastIndexOf(" ") + 1)];
const inRange = (row) => chosen.threads.has(row.threads) &&
  (row.bench !== "pingpong" || (row.size >= chosen.smallest && row.size <= chosen.largest));
const shown = (row) => chosen.keys.has(keyOf(row)) && inRange(row);

// --- What is compared, with its interval where the file has one

function latency(row) {
  const y = row.latency_us.slowest_thread_mean;
  return {x: row.size, y, ...(row.interval && {low: Math.min(y, row.interval.low), high: Math.max(y, row.interval.high)})};
}
const bandwidth = (row) => ({x: row.size, y: row.bandwidth_MBps});
const rate = (row) => ({x: row.threads, y: row.rate_Mps, ...(row.interval && {low: row.interval.low, high: row.interval.high})});

function lines(rows, point) {
  const groups = Map.groupBy(rows, keyOf);
  return [...groups].map(([key, own]) => ({
    key, ...look(key), points: own.map(point).sort((a, b) => a.x - b.x),
  }));
}
const named = (file, title) => files.length > 1 ? `${title} (${file.name})` : title;
const threadsText = (count) => `${count} thread${count > 1 ? "s" : ""}`;

// --- Figures

function byThreads(id, point, keep, y) {
  const out = [];
  for (const threads of ascending([...chosen.threads])) {
    for (const file of files) {
      const rows = measured(file.results).filter((row) =>
        row.bench === "pingpong" && row.threads === threads && shown(row) && keep(row));
      out.push(chart(lines(rows, point), {title: named(file, `${threadsText(threads)} per rank`), x: "bytes of a message", y, sizes: true}));
    }
  }
  byId(id).replaceChildren(...out);
}

// Of one library: a figure for each operation, a line for each thread count; the same of its processes.
function scaling() {
  const out = [];
  for (const file of files) {
    for (const name of [chosen.one, `${chosen.one} processes`]) {
      const rows = measured(file.results).filter((row) => row.bench === "pingpong" && row.library === name &&
        row.size >= chosen.smallest && row.size <= chosen.largest);
      for (const op of unique(rows.map((row) => row.op))) {
        const what = name === chosen.one ? "threads" : "processes";
        const counts = ascending(rows.filter((row) => row.op === op).map((row) => row.threads));
        const series = counts.map((count, i) => ({
          key: `${count} ${what}`, ...styleOf(i), dash: "none",
          points: rows.filter((row) => row.op === op && row.threads === count).map(latency).sort((a, b) => a.x - b.x),
        }));
        const figure = chart(series, {title: named(file, `${chosen.one} ${op}, ${what}`), x: "bytes of a message", y: "latency [µs]", sizes: true});
        figure.append(element("div", {class: "legend"}, ...series.map((one) => element("span", {}, sample(one), one.key))));
        out.push(figure);
      }
    }
  }
  byId("scaling").replaceChildren(...out);
}

function rates() {
  const out = files.map((file) => {
    const rows = measured(file.results).filter((row) => row.bench !== "pingpong" && row.rate_Mps && shown(row));
    return chart(lines(rows, rate), {title: named(file, "Rate"), x: "threads", y: "million messages per second", sizes: false});
  });
  byId("rate").replaceChildren(...out);
  byId("rate-section").hidden = !all.some((row) => row.bench !== "pingpong");
}

// --- The fastest, and who is tied with it

// Tied: its interval overlaps with that of the first, and it takes little longer. `wide` more overlap alone.
function winnersOf(rows) {
  const points = rows.map((row) => ({key: keyOf(row), ...latency(row)})).sort((a, b) => a.y - b.y);
  const reach = points.length ? points[0].high ?? points[0].y : 0;
  const overlap = points.filter((point, i) => i === 0 || (point.low ?? point.y) <= reach);
  const tied = overlap.filter((point) => point.y <= NEAR * points[0].y);
  return {tied, wide: overlap.length - tied.length};
}
const isRanked = (row) => row.bench === "pingpong" && row.library !== "raw";

// In words: the fastest at both ends of the sizes, with the fewest and the most threads.
function conclusion(file) {
  const rows = measured(file.results).filter(isRanked), counts = ascending(rows.map((row) => row.threads));
  const sentences = unique([counts[0], counts.at(-1)].filter(Boolean)).map((count) => {
    const own = rows.filter((row) => row.threads === count), sizes = ascending(own.map((row) => row.size));
    const parts = unique([sizes[0], sizes.at(-1)]).map((size) => {
      const {tied} = winnersOf(own.filter((row) => row.size === size));
      return `${sizeText(size)} ${tied.map((one) => one.key).join(" and ")} (${figureText(tied[0].y)} µs)`;
    });
    return `with ${threadsText(count)} a rank, ${parts.join(", ")}`;
  });
  return sentences.length ? named(file, "Lowest latency one way") + `: ${sentences.join("; ")}.` : "";
}

function winners() {
  const out = files.map((file) => {
    const rows = measured(file.results).filter((row) => isRanked(row) && inRange(row) && !chosen.off.has(keyOf(row)));
    const counts = ascending(rows.map((row) => row.threads));
    const table = element("table", {}, element("tr", {}, element("th", {}, "size"),
      ...counts.map((count) => element("th", {class: "text"}, threadsText(count)))));
    for (const size of ascending(rows.map((row) => row.size))) {
      const cells = counts.map((count) => {
        const best = winnersOf(rows.filter((row) => row.size === size && row.threads === count));
        const said = best.tied.map((one) => `${one.key} ${figureText(one.y)}`).join(" = ");
        return element("td", {class: "winner"}, said + (best.wide ? ` (intervals of ${best.wide} slower ones overlap)` : ""));
      });
      table.append(element("tr", {}, element("td", {}, sizeText(size)), ...cells));
    }
    return element("div", {}, ...(files.length > 1 ? [element("h3", {}, file.name)] : []), element("div", {class: "scroll"}, table));
  });
  byId("winners").replaceChildren(...out);
}

// --- Tables that do not change

function tableOf(head, rows) {
  const table = element("table", {}, element("tr", {}, ...head.map((text) => element("th", {class: "text"}, text))));
  for (const row of rows) table.append(element("tr", {}, ...row.map((text) => element("td", {class: "text"}, text ?? ""))));
  return element("div", {class: "scroll"}, table);
}

function describe() {
  const head = ["library", "version", "over", "thread level asked, granted", "settings", "start-up", "memory of a rank", "CPU per message",
    "to keep in mind"];
  byId("libraries").append(...files.map((file) => {
    const rows = measured(file.results), seen = unique(rows.map((row) => row.library));
    return element("div", {}, element("h3", {}, file.name), tableOf(head, seen.map((name) => {
      const own = rows.filter((row) => row.library === name);
      const first = own.reduce((a, b) => a.threads * 2 ** 32 + a.size <= b.threads * 2 ** 32 + b.size ? a : b);
      const {details = {}, settings = [], caveats = []} = file.libraries[name] ?? {};
      return [name, first.version, first.transport,
        unique([details["thread level asked"], details["thread level granted"]].filter(Boolean)).join(", "),
        settings.join("; "), first.startup_s ? `${figureText(first.startup_s)} s` : "",
        first.memory_MiB ? `${figureText(first.memory_MiB)} MiB` : "",
        first.cpu_us_per_message ? `${figureText(first.cpu_us_per_message)} µs` : "", caveats.join("; ")];
    })));
  }));
  const problems = unique(files.flatMap((file) => file.results.filter((row) => row.status !== "ok").map((row) =>
    named(file, `${keyOf(row)}: ${row.status}. ${row.reason}`))));
  byId("problems").append(...problems.map((text) => element("li", {}, text)));
  byId("problems-section").hidden = !problems.length;
  byId("machine").append(element("div", {class: "sides"}, ...files.map((file) => element("div", {}, element("h3", {}, file.name),
    tableOf(["", ""], Object.entries(file.machine).filter(([name]) => name !== "topology").map(([name, value]) => [name, `${value}`])),
    element("pre", {}, file.command), ...(file.machine.topology ? [element("pre", {}, file.machine.topology)] : [])))));
  byId("lead").textContent = files.map((file) => `${file.name}: ${file.machine.cpu}, ${file.machine.cores} cores, ${file.date}` +
    (file.interrupted ? ", interrupted" : "")).join(" · ");
  byId("conclusion").textContent = files.map(conclusion).join(" ");
}

// What one more rank costs: each library's largest job, beside its smallest.
function memory() {
  const head = ["library", "threads", "memory of a rank", "one more rank adds", "and as many descriptors"];
  const has = files.filter((file) => good(file.results).some((row) => row.bench === "memory"));
  byId("memory").append(...has.map((file) => {
    const rows = good(file.results).filter((row) => row.bench === "memory");
    const lines = [...Map.groupBy(rows, (row) => `${row.library} ${row.threads}`).values()].map((own) => {
      const [few, ...more] = own.sort((a, b) => a.ranks - b.ranks), last = more.at(-1);
      return [few.library, `${few.threads}`, own.map((row) => `${figureText(row.memory_MiB)} MiB of ${row.ranks}`).join(", "),
        last ? `${figureText(last.memory_per_peer_KiB)} KiB` : "", last ? figureText(last.descriptors_per_peer) : ""];
    });
    return element("div", {}, element("h3", {}, file.name), tableOf(head, lines));
  }));
  byId("memory-section").hidden = !has.length;
}

// --- What is chosen

// This layer, then those of the lowest latency at the smallest size, or of the highest rate.
function atFirst() {
  const least = Math.min(...all.map((row) => row.threads)), byKey = Map.groupBy(all, keyOf);
  const place = (key) => {
    if (key.startsWith("ompl ")) return -Infinity;
    const own = byKey.get(key).filter((row) => row.threads === least);
    const ping = own.filter((row) => row.bench === "pingpong" && row.size === chosen.smallest);
    return ping.length ? latency(ping[0]).y : 1e9 / (1 + Math.max(0, ...own.map((row) => row.rate_Mps ?? 0)));
  };
  return keys.map((key) => [place(key), key]).sort(([a], [b]) => a - b).slice(0, MOST).map(([, key]) => key);
}

function toggles(id, values, set, text, off) {
  byId(id).append(...values.map((value) => {
    const button = element("button", {type: "button", "aria-pressed": `${set.has(value)}`, "data-value": `${value}`}, ...text(value));
    button.addEventListener("click", () => {
      if (set.delete(value)) off?.add(value); else { set.add(value); off?.delete(value); }
      button.setAttribute("aria-pressed", `${set.has(value)}`);
      draw();
    });
    return button;
  }));
}

function selection(id, values, text, name) {
  const select = byId(id);
  select.append(...values.map((value) => element("option", {value: `${value}`}, text(value))));
  select.value = `${chosen[name]}`;
  select.addEventListener("change", () => {
    chosen[name] = name === "one" ? select.value : Number(select.value);
    draw();
  });
}

function draw() {
  winners();
  byThreads("latency", latency, (row) => row.size <= SMALL, "latency [µs]");
  byThreads("bandwidth", bandwidth, () => true, "bandwidth [MB/s]");
  scaling();
  rates();
}

for (const key of atFirst()) chosen.keys.add(key);
toggles("legend", keys, chosen.keys, (key) => [sample(look(key)), key], chosen.off);
toggles("threads", ascending([...chosen.threads]), chosen.threads, (count) => [`${count}`]);
for (const [id, name] of [["smallest", "smallest"], ["largest", "largest"]])
  selection(id, ascending(pings.map((row) => row.size)), sizeText, name);
selection("one", libraries.filter((name) => !name.endsWith(" processes")), (name) => name, "one");
for (const id of ["winners", "latency", "bandwidth", "scaling"]) byId(`${id}-section`).hidden = !pings.length;
describe();
memory();
draw();
document.documentElement.dataset.ready = "yes";
