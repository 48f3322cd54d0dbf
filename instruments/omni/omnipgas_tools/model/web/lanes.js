// SPDX-License-Identifier: BSD-3-Clause
// What each rank does and when: columns of typed arrays, and how much of each kind lies in any stretch of time.
// Times in nanoseconds. Kinds (parts of the time) are numbered as in KINDS.
"use strict";

const KINDS = ["compute", "overhead", "send-wait", "recv-wait"];
const K = KINDS.length;

// The arrays that one block of compressed bytes holds, by name.
async function unpack(base64, directory) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const types = {f8: Float64Array, u4: Uint32Array, i4: Int32Array, u1: Uint8Array};
  return Object.fromEntries(
    directory.map(({name, type, offset, length}) => [name, new types[type](bytes, offset, length)]));
}

class Lanes {
  constructor(columns) {
    Object.assign(this, columns); // starts, end, activity, call, site, peer, bytes; m_sent, m_end, m_source, m_target, ...
    this.ranks = this.starts.length - 1;
    this.sums = new Float64Array(K * this.end.length); // of each kind, from the rank's start to the end of the interval
    for (let rank = 0; rank < this.ranks; ++rank) {
      const sum = new Float64Array(K);
      for (let i = this.starts[rank]; i < this.starts[rank + 1]; ++i) {
        sum[this.activity[i]] += this.end[i] - this.begin(rank, i);
        this.sums.set(sum, K * i);
      }
    }
    // Messages are sorted by their sends; the latest end up to each makes those of a window a range.
    this.latest = new Float64Array(this.m_end.length);
    this.latest.forEach((_, i, all) => { all[i] = Math.max(i ? all[i - 1] : 0, this.m_end[i]); });
  }

  begin(rank, i) {
    return i > this.starts[rank] ? this.end[i - 1] : 0;
  }

  // The interval of a rank that a time lies in, looked for from `from` on; the one past the rank's last if none.
  find(rank, time, from = this.starts[rank]) {
    const last = this.starts[rank + 1];
    let step = 1, low = from, high = from;
    while (high < last && this.end[high] <= time) {
      low = high + 1;
      high += step;
      step *= 2;
    }
    high = Math.min(high, last);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // How much of each kind lies before a time, which lies in interval i.
  before(rank, i, time, out) {
    const known = i > this.starts[rank];
    for (let k = 0; k < K; ++k) out[k] = known ? this.sums[K * (i - 1) + k] : 0;
    if (i < this.starts[rank + 1]) out[this.activity[i]] += time - this.begin(rank, i);
  }

  // Tells visit(column, shares) for each of `count` columns from `start`, each `step` long: what part of the column each
  // kind has. `shares` is used again.
  columns(rank, start, step, count, visit) {
    let then = new Float64Array(K), now = new Float64Array(K);
    const shares = new Float64Array(K);
    let i = this.find(rank, start);
    this.before(rank, i, start, then);
    for (let column = 0; column < count; ++column) {
      const time = start + (column + 1) * step;
      i = this.find(rank, time, i);
      this.before(rank, i, time, now);
      for (let k = 0; k < K; ++k) shares[k] = (now[k] - then[k]) / step;
      visit(column, shares);
      [then, now] = [now, then];
    }
  }

  // The messages that lie in a window, as numbers from..to-1; some of them may not.
  messages(start, stop) {
    return [firstFrom(this.latest, start), firstFrom(this.m_sent, stop)];
  }
}

// The first place of a rising array whose value is at least this.
function firstFrom(rising, value) {
  let low = 0, high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
