// The keyboard shortcuts of each screen, and the list of them.

import { fill, make } from "./dom.js";

let current = [];
const dialog = document.getElementById("keys");

// A key is { key, shift, does, run }; `does` is its text in the list, and keys without it are not listed.
export function setKeys(keys) {
  current = keys;
}

function inField(target) {
  return target.closest?.("input, textarea, select, [contenteditable]") !== null && target.closest !== undefined;
}

export function showKeys() {
  const listed = new Map();
  for (const one of current) if (one.does) listed.set(one.does, [...(listed.get(one.does) ?? []), one.shown ?? one.key]);
  const rows = [...listed].map(([does, keys]) => make("tr", {}, make("td", {}, keys.map((key) => make("kbd", {}, key))), make("td", {}, does)));
  fill(dialog, make("h2", { id: "keys-title", tabindex: "-1", autofocus: true }, "Keyboard shortcuts"), make("table", {}, make("tbody", {}, rows)),
    make("form", { method: "dialog" }, make("button", {}, "Close")));
  dialog.showModal();
  dialog.scrollTop = 0;
}

// Digits are recognised by their position on the keyboard, because some layouts need shift for them.
function keyOf(event) {
  const digit = /^Digit\d$/.test(event.code) ? event.code.slice(5) : null;
  return current.find((one) => one.key === event.key && !/^\d$/.test(one.key))
    ?? current.find((one) => (digit === null ? !one.shift && one.key === event.key : Boolean(one.shift) === event.shiftKey && one.key === digit));
}

// A click with the mouse leaves no focus behind: the next key is a shortcut, not a second click.
document.addEventListener("click", (event) => {
  if (event.detail) event.target.closest?.("button, a")?.blur();
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || inField(event.target)) return;
  if (event.target.closest?.("button, a, summary") && (event.key === " " || event.key === "Enter")) return;
  const found = keyOf(event);
  if (!found) return;
  event.preventDefault();
  if (!event.repeat || found.repeats) found.run();
});
