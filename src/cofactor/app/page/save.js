// The screen Save: what to take along.

import { attempt, read } from "./api.js";
import { fill, make, toast } from "./dom.js";

export const name = "save";
export const title = "Save";

let parts = null;

export function show(place) {
  parts = { place };
  load();
}

export function leave() {
  parts = null;
}

async function load() {
  const found = await attempt(() => read("code"));
  if (!found || !parts) return;
  const code = make("pre", { tabindex: "0", "aria-label": "Python code" }, found.code);
  fill(parts.place, make("h2", {}, "Save"),
    make("p", { class: "lead" }, "Every decision is already on the disk, and so is the model. These are copies to take along."),
    make("div", { class: "cards" },
      card("Labels", "The table with its label column filled in. Labels are those of the table and those that you decided, and label_source tells which. Predictions stand in a column of their own.",
        link("table.csv", "CSV"), link("table.jsonl", "JSON lines")),
      card("Report", "One page about the model that works offline. It takes some seconds, because it fits again to test.", link("report.html", "Report")),
      card("Model", `The folder ${found.folder} holds the model, and ${found.log} beside it holds the decisions. Start cofactor app with the same table to go on.`)),
    make("div", { class: "head" }, make("h3", {}, "The same in Python"), make("button", { type: "button", onclick: () => copy(found.code) }, "Copy")), code);
}

function card(head, text, ...links) {
  return make("section", { class: "card" }, make("h3", {}, head), make("p", {}, text), make("div", { class: "controls" }, links));
}

function link(address, text) {
  return make("a", { class: "button", href: `/api/${address}`, download: true }, text);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser does not allow copying; select the code yourself.", true);
  }
}
