// The Save screen: files to download.

import { attempt, download, read } from "./api.js";
import { fill, make, toast } from "./dom.js";

export const name = "save";
export const title = "Save";

const PROGRAMS = { prodigy: "Prodigy", "label-studio": "Label Studio", huggingface: "Argilla, Hugging Face", spacy: "spaCy" };
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
    make("p", { class: "lead" }, "Every decision is already saved to disk, and so is the model. Download copies here."),
    make("div", { class: "cards" },
      card("Labels", "The table with its label column filled in. Labels are those of the table and those you decided; label_source says which. Predictions are in a separate column.",
        link("table.csv", "CSV"), link("table.jsonl", "JSON lines")),
      card("For other programs", "Your labels, and those of the table, as other programs read them. Texts without a label are left out.",
        ...Object.entries(PROGRAMS).map(([one, text]) => link(`labels.for?program=${one}`, text))),
      card("Report", "A page about the model that works offline. It takes a few seconds, because the model is refitted to test it.", link("report.html", "Report")),
      card("Model", `The model is in the folder ${found.folder}, the decisions are next to it in ${found.log}. Start cofactor app with the same table to continue.`)),
    make("div", { class: "head" }, make("h3", {}, "The same in Python"), make("button", { type: "button", onclick: () => copy(found.code) }, "Copy")), code);
}

function card(head, text, ...links) {
  return make("section", { class: "card" }, make("h3", {}, head), make("p", {}, text), make("div", { class: "controls" }, links));
}

function link(address, text) {
  const button = make("button", { type: "button", onclick: async () => {
    button.disabled = true;
    await attempt(() => download(address));
    button.disabled = false;
  } }, text);
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser does not allow copying; select the code and copy it yourself.", true);
  }
}
