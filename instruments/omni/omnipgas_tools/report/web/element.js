// SPDX-License-Identifier: BSD-3-Clause
// An element of a page, made at once.
"use strict";

function element(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
  out.append(...children);
  return out;
}
