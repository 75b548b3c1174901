// The Documents screen: search, filter, sort, read, label a selection at once.

import { attempt, change, read, setState, state, tab, undo } from "./api.js";
import { fill, make, own, percent, plural, refill, toast } from "./dom.js";

export const name = "documents";
export const title = "Documents";
export const keys = [{ key: "/", does: "search the texts", run: () => parts?.query.focus() },
  { key: "Backspace", shown: "⌫", does: "undo", run: () => attempt(undo) }];

const asked = { query: "", topic: -1, label: "", state: "", below: 0, since: "", until: "", sort: "row", page: 0 };
const STATES = { "": "all texts", labelled: "labelled", open: "not labelled", flagged: "flagged", noted: "with a note", skipped: "skipped", different: "label differs from prediction" };
let parts = null;
let selected = new Set();
let timer = 0;

export function show(place) {
  selected = new Set();
  parts = {
    query: make("input", { class: "search", type: "search", value: asked.query, placeholder: "Search", "aria-label": "Search the texts", oninput: () => later("query", parts.query.value) }),
    topic: choice("Topic", (value) => ask("topic", Number(value))),
    label: choice("Class", (value) => ask("label", value)),
    state: choice("State", (value) => ask("state", value)),
    below: choice("Confidence", (value) => ask("below", Number(value))),
    since: day("since"), until: day("until"),
    sort: choice("Order", (value) => ask("sort", value)),
    count: make("p", { class: "muted", role: "status" }),
    all: make("input", { type: "checkbox", "aria-label": "Select all rows on this page", onchange: () => selectAll(parts.all.checked) }),
    body: make("tbody"), pager: make("div", { class: "controls pager" }), bulk: make("div", { class: "controls bulk" }),
  };
  parts.query.addEventListener("keydown", (event) => { if (event.key === "Escape") parts.query.blur(); });
  parts.filters = make("div", { class: "controls" }, parts.query, parts.topic, parts.label, parts.state, parts.below, state.dated ? make("span", { class: "days" }, parts.since, parts.until) : null, parts.sort);
  const columns = ["", "Row", state.dated ? "Date" : null, "Text", "Label", "Prediction", "Topic"].filter((text) => text !== null);
  fill(place, make("h2", {}, "Documents"),
    parts.filters,
    make("div", { class: "head" }, parts.count, parts.bulk),
    make("div", { class: "scroll" }, make("table", { class: "documents" },
      make("thead", {}, make("tr", {}, columns.map((text) => make("th", { scope: "col" }, text || parts.all)))), parts.body)),
    parts.pager);
  choices();
  load();
}

// Shows the labelled texts of a class, to give some of them another class.
export function showClass(one) {
  Object.assign(asked, { query: "", topic: -1, label: one, state: "labelled", below: 0, since: "", until: "", page: 0 });
  location.hash = "#documents";
}

export function leave() {
  parts = null;
}

export function update(now, before) {
  if (!parts || (now.decisions === before.decisions && now.version === before.version)) return;
  if (!parts.filters.contains(document.activeElement)) choices(); // not while a list is open
  if (!parts.body.querySelector(".whole")) load(); // not while somebody reads a text
}

function day(key) {
  return make("label", { class: "days" }, key === "since" ? "from" : "to", make("input", { class: "search day", type: "date", value: asked[key], onchange: (event) => ask(key, event.target.value) }));
}

function choice(text, run) {
  return make("select", { "aria-label": text, onchange: (event) => run(event.target.value) });
}

async function choices() {
  const answer = await attempt(() => read("topics"));
  if (!answer || !parts) return;
  const option = (value, text, current) => make("option", { value, selected: String(value) === String(current) }, text);
  fill(parts.topic, option(-1, "all topics", asked.topic), answer.topics.map((topic) => option(topic.topic, `${topic.topic} ${topic.name}`, asked.topic)));
  const classes = Object.keys(state.counts.classes);
  fill(parts.label, option("", "all classes", asked.label), classes.map((one) => option(one, one, asked.label)));
  fill(parts.state, Object.entries(STATES).map(([value, text]) => option(value, text, asked.state)));
  fill(parts.below, option(0, "any confidence", asked.below), [50, 70, 90, 99].map((most) => option(most, `below ${most} %`, asked.below)));
  fill(parts.sort, option("row", "in row order", asked.sort), option("confidence", "least confident first", asked.sort), state.dated ? option("date", "by date", asked.sort) : null);
  const field = parts.bulk.querySelector("input") ?? make("input", { class: "search", list: "bulk-classes", placeholder: "Label the selected texts …", "aria-label": "Class for the selected texts", maxlength: "200" });
  fill(parts.bulk, make("form", { class: "controls", onsubmit: (event) => { event.preventDefault(); labelSelected(field); } }, field, make("button", {}, "Label")),
    make("datalist", { id: "bulk-classes" }, classes.map((one) => make("option", { value: one }))));
}

function selectAll(on) {
  for (const box of parts.body.querySelectorAll("input[type=checkbox]")) {
    if (box.checked !== on) box.click();
  }
}

function ask(key, value) {
  asked[key] = value;
  if (key !== "page") asked.page = 0;
  selected = new Set();
  load();
}

function later(key, value) {
  clearTimeout(timer);
  timer = setTimeout(() => ask(key, value), 200);
}

async function load() {
  const answer = await attempt(() => read("documents", asked));
  if (!answer || !parts) return;
  parts.count.textContent = plural(answer.found, "text");
  parts.all.checked = false;
  refill(parts.body, answer.rows.map(row));
  const pages = Math.max(1, Math.ceil(answer.found / answer.per_page));
  fill(parts.pager, make("button", { type: "button", disabled: asked.page <= 0, onclick: () => ask("page", asked.page - 1) }, "Back"),
    make("span", { class: "muted" }, `page ${asked.page + 1} of ${pages}`),
    make("button", { type: "button", disabled: asked.page + 1 >= pages, onclick: () => ask("page", asked.page + 1) }, "Next"));
}

function row(one) {
  const box = make("input", { type: "checkbox", "aria-label": `Select row ${one.name}`, onchange: () => { if (box.checked) selected.add(one.document); else selected.delete(one.document); } });
  box.checked = selected.has(one.document);
  const element = make("tr", {}, make("td", {}, box), make("td", { class: "number" }, one.name, one.flagged ? " ⚑" : ""),
    state.dated ? make("td", { class: "number" }, one.date ?? "") : null,
    make("td", { class: "broad" }, make("button", { type: "button", class: "opener", "data-key": `open ${one.document}`, "aria-expanded": "false", onclick: (event) => whole(element, one.document, event.currentTarget) }, make("span", { class: "clamp" }, own(one.excerpt)))),
    make("td", {}, one.labels === null ? "" : make("span", { class: one.source === "table" ? "chip given" : "chip" }, own(one.labels.length ? one.labels.join(", ") : "none"))),
    make("td", {}, own(one.prediction.join(", ")), one.prediction.length && one.confidence !== null ? make("span", { class: "muted" }, ` ${percent(one.confidence)}`) : "",
      one.unlike && one.labels === null ? make("span", { class: "muted", title: "unlike the labelled texts of this class" }, " ▲") : ""),
    make("td", { class: "muted" }, own(one.topic >= 0 ? one.topic_name : "")));
  return element;
}

async function whole(element, place, button) {
  if (element.nextSibling?.classList?.contains("whole")) {
    element.nextSibling.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  const found = await attempt(() => read("document", { place }));
  if (!found || !parts) return;
  button.setAttribute("aria-expanded", "true");
  element.after(make("tr", { class: "whole" }, make("td", { colspan: "7" }, make("div", { class: "text", dir: "auto" }, found.segments.map(([text, level]) => (level
    ? make("mark", { class: level > 0 ? `for${level}` : `against${-level}` }, text) : text))))));
}

async function labelSelected(field) {
  const wanted = field.value.trim();
  if (!wanted) return;
  if (!selected.size) {
    toast("Select texts first.");
    return;
  }
  const number = selected.size;
  const done = await attempt(() => change("label-many", { tab, documents: [...selected], labels: [wanted], create: true }));
  if (!done) return;
  selected = new Set();
  field.value = "";
  setState(done);
  toast(`${plural(number, "text")} labelled ${wanted}. One undo takes this back.`);
}
