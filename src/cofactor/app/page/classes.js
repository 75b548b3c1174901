// The Classes screen: names and descriptions; merge, split, delete.

import { attempt, change, setState, state, tab, undo } from "./api.js";
import { bar, fill, make, own, plural, refill, toast } from "./dom.js";
import { showClass } from "./documents.js";

export const name = "classes";
export const title = "Classes";
export const keys = [{ key: "Backspace", shown: "⌫", does: "undo", run: () => attempt(undo) }];

let parts = null;

export function show(place) {
  parts = {
    field: make("input", { class: "search", placeholder: "New class", "aria-label": "Name of a new class", maxlength: "200" }),
    body: make("tbody"), dialog: make("dialog", { "aria-labelledby": "class-title" }), names: make("datalist", { id: "class-names" }),
  };
  fill(place, make("div", { class: "head" }, make("h2", {}, "Classes"),
    make("form", { class: "controls", onsubmit: (event) => { event.preventDefault(); add(); } }, parts.field, make("button", {}, "Add"))),
  make("div", { class: "scroll" }, make("table", { class: "class-table" },
    make("thead", {}, make("tr", {}, ["Class", "What it is about", "Labels", "Changes"].map((text) => make("th", { scope: "col" }, text)))), parts.body)),
  parts.dialog, parts.names);
  showRows(state);
}

export function leave() {
  parts = null;
}

export function update(now, before) {
  if (parts && before.decisions !== now.decisions && !parts.body.contains(document.activeElement?.closest("input"))) showRows(now);
}

function showRows(now) {
  const names = Object.keys(now.counts.classes);
  const most = Math.max(1, ...Object.values(now.counts.classes));
  fill(parts.names, names.map((one) => make("option", { value: one })));
  refill(parts.body, names.map((one) => row(one, now.counts.classes[one], most, now.descriptions[one] ?? "")));
  if (!names.length) parts.body.append(make("tr", {}, make("td", { colspan: "4", class: "muted" }, "There is no class yet.")));
}

// Enter or leaving the field saves; Escape restores.
function field(value, attributes, save) {
  const element = make("input", { class: "rename", dir: "auto", value, ...attributes });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") element.value = value;
    if (event.key === "Enter" || event.key === "Escape") element.blur();
  });
  element.addEventListener("change", () => { if (element.value.trim() !== value) save(element); });
  return element;
}

function row(one, count, most, about) {
  const button = (text, run, attributes = {}) => make("button", { type: "button", class: "small", "aria-label": `${text} ${one}`, "data-key": `${text} ${one}`, onclick: run, ...attributes }, text);
  return make("tr", {},
    make("td", {}, field(one, { "aria-label": `Name of ${one}`, maxlength: "200" }, (element) => rename(one, element))),
    make("td", {}, field(about, { "aria-label": `Description of ${one}`, maxlength: "1000", placeholder: "describe it; shown on hover" }, (element) => send("describe-class", { name: one, text: element.value }))),
    make("td", { class: "number" }, count, bar(count / most, plural(count, "label"))),
    make("td", {}, make("div", { class: "controls" }, button("Merge", () => merging(one)), button("Split", () => showClass(one), { disabled: !count }),
      button("Delete", () => send("delete-class", { name: one }, `Deleted: ${one}.`), { disabled: count > 0, title: count ? "Only a class without labels can be deleted; merge this one instead" : null }))));
}

async function send(what, content, said) {
  const done = await attempt(() => change(what, { tab, ...content }));
  if (!parts) return false;
  setState(done ?? state);
  showRows(state);
  if (done && said) toast(`${said} Press ⌫ to undo.`);
  return Boolean(done);
}

async function add() {
  if (await send("make-class", { name: parts.field.value })) parts.field.value = "";
}

function rename(old, element) {
  const wanted = element.value.trim();
  if (!wanted) element.value = old;
  else if (wanted in state.counts.classes) {
    element.value = old;
    merging(old, wanted);
  } else send("rename-class", { old, new: wanted }, `${old} is now ${wanted}.`);
}

function merging(one, into = "") {
  const other = make("input", { class: "search", list: "class-names", value: into, "aria-label": `Class that ${one} becomes a part of`, autofocus: true });
  fill(parts.dialog, make("h2", { id: "class-title" }, "Merge ", own(one)),
    make("p", {}, "All its labels become labels of the other class."),
    make("form", { class: "controls", onsubmit: (event) => {
      event.preventDefault();
      const wanted = other.value.trim();
      if (!(wanted in state.counts.classes) || wanted === one) { toast("Choose another class from the list.", true); return; }
      parts.dialog.close();
      send("rename-class", { old: one, new: wanted }, `${one} is now part of ${wanted}.`);
    } }, other, make("button", { class: "confirm" }, "Merge"), make("button", { type: "button", onclick: () => parts.dialog.close() }, "Cancel")));
  parts.dialog.showModal();
}
