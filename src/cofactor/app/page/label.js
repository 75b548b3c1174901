// The Label screen: one text, its suggestion, the classes, the last decisions.

import { attempt, change, read, setState, state, tab } from "./api.js";
import { bar, fill, make, percent, plural, refill, toast } from "./dom.js";

export const name = "label";
export const title = "Label";

const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];
let doc = null; // the text on the screen
let chosen = new Set(); // its labels so far, if several are allowed
let waiting = false;
let parts = null;

export function show(place) {
  parts = {
    head: make("header", { class: "doc-head" }),
    text: make("article", { class: "text", dir: "auto", tabindex: "0", "aria-label": "Text" }),
    legend: make("p", { class: "note legend" }),
    suggestion: make("section", { class: "suggestion", "aria-label": "Suggestion", "aria-live": "polite" }),
    classes: make("ol", { class: "classes", "aria-label": "Classes" }),
    field: make("input", { class: "search", placeholder: "New class", "aria-label": "Name of a new class", maxlength: "200" }),
    actions: make("div", { class: "actions" }),
    last: make("ol", { class: "last", "aria-label": "Last decisions" }),
    search: make("input", { class: "search", type: "search", placeholder: "Search the texts", "aria-label": "Search the texts" }),
    hits: make("ol", { class: "last", "aria-label": "Found texts", hidden: true }),
  };
  parts.form = make("form", { class: "new-class", onsubmit: (event) => { event.preventDefault(); makeClass(); } },
    parts.field, make("button", {}, "Add"));
  parts.finder = make("form", { onsubmit: (event) => { event.preventDefault(); find(); } }, parts.search);
  for (const field of [parts.field, parts.search]) {
    field.addEventListener("keydown", (event) => { if (event.key === "Escape") { field.blur(); parts.hits.hidden = true; } });
  }
  fill(place, make("div", { class: "label-screen" },
    make("section", { class: "reading", "aria-label": "Text to label" }, parts.head, parts.text, parts.legend),
    make("aside", { class: "deciding" }, parts.suggestion, parts.classes, parts.form, parts.actions,
      parts.finder, parts.hits, make("h3", {}, "Last decisions"), parts.last)));
  fill(parts.actions,
    action("Accept", "a", accept), action("None of these", "x", () => decide([])),
    action("Skip", "space", skip), action("Flag", "f", flag), action("Undo", "⌫", undo));
  if (state) update(state, null);
  if (doc) showDocument(doc); else next();
}

export function leave() {
  parts = null;
}

export function update(now, before) {
  if (!parts) return;
  const changed = !before || before.decisions !== now.decisions || before.version !== now.version;
  if (changed) {
    if (!parts.classes.querySelector("form")) showClasses(now); // not while a name is being typed there
    showLast(now);
  }
  if (doc === null && !waiting && (changed || !now.busy)) next();
}

export const keys = [
  ...DIGITS.map((key, place) => ({ key, shown: "1 … 9, 0", does: place ? null : "choose a class", run: () => choose(place) })),
  ...DIGITS.map((key, place) => ({ key, shift: true, shown: "shift + 1 … 0", does: place ? null : "choose one of the next ten classes", run: () => choose(place + 10) })),
  { key: "Enter", does: "confirm several labels", run: () => { if (state.several && chosen.size) decide([...chosen]); } },
  { key: "a", does: "accept the suggestion", run: accept },
  { key: "x", does: "none of these classes", run: () => decide([]) },
  { key: " ", shown: "space", does: "skip", run: skip },
  { key: "Backspace", shown: "⌫", does: "undo", run: undo },
  { key: "f", does: "flag, or remove the flag", run: flag },
  { key: "n", does: "create a class", run: () => parts?.field.focus() },
  { key: "/", does: "search the texts", run: () => parts?.search.focus() },
];

function action(text, key, run) {
  return make("button", { type: "button", onclick: run }, text, " ", make("kbd", {}, key));
}

// ---- what is shown

async function next(leaveOut = -1) {
  waiting = true;
  const found = await attempt(() => read("next", { tab, leave: leaveOut }));
  waiting = false;
  showDocument(found ? found.document : null);
}

async function open(place) {
  const found = await attempt(() => read("document", { place }));
  if (found) showDocument(found);
}

function showDocument(found) {
  doc = found;
  chosen = new Set(found?.labels ?? []);
  if (!parts) return;
  if (!found) {
    const all = state?.exhausted;
    fill(parts.head);
    fill(parts.text, make("p", { class: "muted" }, all ? "No text is left to label. Search for one, or open the other screens." : "Choosing the next texts …"));
    fill(parts.suggestion);
    parts.legend.textContent = "";
    return;
  }
  fill(parts.head, make("span", { class: `badge ${found.reason.split(" ")[0]}` }, found.reason),
    make("span", { class: "muted" }, `row ${found.name}`), found.date && make("span", { class: "muted" }, found.date),
    make("span", { class: "muted topic" }, found.topic >= 0 ? found.topic_name : "no known words"),
    found.flagged && make("span", { class: "badge flag" }, "flagged"),
    found.source && make("span", { class: "badge done" }, found.source === "table" ? "label in the table" : "reviewed"));
  fill(parts.text, found.segments.map(([text, level]) => (level
    ? make("mark", { class: level > 0 ? `for${level}` : `against${-level}` }, text) : text)),
  found.cut ? make("p", { class: "note" }, `${plural(found.cut, "further character")} not shown`) : null);
  parts.text.scrollTop = 0;
  showLegend(found);
  showSuggestion(found);
  showClasses(state);
}

function showLegend(found) {
  if (found.leading === null) {
    parts.legend.textContent = "";
    return;
  }
  fill(parts.legend, make("mark", { class: "for2" }, "favours"), ` ${found.leading}`,
    found.rival === null ? "" : [" · ", make("mark", { class: "against2" }, "favours"), ` ${found.rival}`]);
}

function showSuggestion(found) {
  const rows = found.probabilities.slice(0, 3).map(({ label, probability }) => make("li", {},
    make("span", { class: "name" }, label), bar(probability, `${label}: ${percent(probability)}`), make("span", { class: "number" }, percent(probability))));
  const predicted = suggested(found);
  fill(parts.suggestion, make("h2", {}, predicted === null ? "No suggestion yet" : predicted.length ? predicted.join(", ") : "none"),
    rows.length ? make("ul", { class: "probabilities" }, rows)
      : make("p", { class: "muted" }, predicted === null ? "Suggestions start once two classes have labels." : ""));
}

function suggested(found) {
  if (found.prediction === null) return null;
  return Array.isArray(found.prediction) ? found.prediction : [String(found.prediction)];
}

function showClasses(now) {
  if (!now || !parts) return;
  const names = Object.keys(now.counts.classes);
  const digits = (place) => (place < 10 ? DIGITS[place] : place < 20 ? `⇧${DIGITS[place - 10]}` : "");
  refill(parts.classes, names.map((one, place) => make("li", {},
    make("button", { type: "button", class: "class", "data-key": `class ${one}`, "aria-pressed": chosen.has(one) ? "true" : "false", onclick: () => choose(place) },
      make("kbd", {}, digits(place)), make("span", { class: "name" }, one), make("span", { class: "number muted" }, now.counts.classes[one])),
    make("button", { type: "button", class: "small", "aria-label": `Rename or merge ${one}`, title: "Rename, or merge into another class", onclick: (event) => renaming(event.target, one) }, "✎"))));
  if (now.several && names.length) {
    parts.classes.append(make("li", {}, make("button", { type: "button", class: "confirm", onclick: () => { if (chosen.size) decide([...chosen]); } },
      "Confirm ", make("kbd", {}, "enter"))));
  }
}

function renaming(button, old) {
  const item = button.closest("li");
  const field = make("input", { class: "search", value: old, "aria-label": `New name of ${old}`, maxlength: "200" });
  field.addEventListener("keydown", (event) => { if (event.key === "Escape") showClasses(state); });
  fill(item, make("form", { class: "new-class", onsubmit: (event) => { event.preventDefault(); renameClass(old, field.value); } },
    field, make("button", {}, "Rename")));
  field.select();
}

function showLast(now) {
  refill(parts.last, now.last.map((one) => make("li", {},
    make("button", { type: "button", class: "opener", "data-key": `open ${one.number}`, onclick: () => open(one.document) },
      make("span", { class: "chip" }, one.labels === null ? "skipped" : one.labels.length ? one.labels.join(", ") : "none"),
      make("span", { class: "muted" }, ` ${one.excerpt}`)),
    make("button", { type: "button", class: "small", "data-key": `undo ${one.number}`, "aria-label": "Undo this decision", title: "Undo this decision", onclick: () => undoOne(one.number) }, "⌫"))));
  if (!now.last.length) parts.last.append(make("li", { class: "muted" }, "none yet"));
}

// ---- what is decided

let sending = Promise.resolve();

// Decisions are sent one after another, in the order of the keystrokes.
function send(work) {
  sending = sending.then(() => attempt(work));
  return sending;
}

// Sends a decision that closes this text. Until the next text is there, keys decide nothing: they
// would apply to a text that nobody has seen.
async function finish(name, content) {
  if (!doc) return;
  const current = doc;
  doc = null;
  waiting = true;
  const done = await send(() => change(name, { tab, document: current.document, ...content }));
  if (done) {
    setState(done);
    await next(current.document);
  } else {
    waiting = false;
    showDocument(current);
  }
}

function decide(labels) {
  return finish("label", { labels });
}

function choose(place) {
  const one = Object.keys(state?.counts.classes ?? {})[place];
  if (one === undefined || !doc) return;
  if (!state.several) {
    decide([one]);
    return;
  }
  if (!chosen.delete(one)) chosen.add(one);
  showClasses(state);
}

function accept() {
  const labels = doc ? suggested(doc) : null;
  if (labels === null) toast("There is no suggestion yet.");
  else decide(labels);
}

function skip() {
  return finish("skip", {});
}

async function flag() {
  if (!doc) return;
  const { document: place, flagged } = doc;
  const done = await send(() => change("flag", { tab, document: place, on: !flagged }));
  if (!done) return;
  setState(done);
  toast(flagged ? "Flag removed." : "Flagged.");
  if (doc && doc.document === place) showDocument({ ...doc, flagged: !flagged });
}

async function undo() {
  const done = await send(() => change("undo", { tab }));
  if (done) undone(done);
}

async function undoOne(number) {
  const done = await send(() => change("undo", { tab, number }));
  if (done) undone(done);
}

function undone(done) {
  setState(done);
  toast(done.undone ? `Undone: ${done.undone}.` : "There is nothing to undo.");
  if (done.document !== null) open(done.document);
}

async function makeClass() {
  const wanted = parts.field.value;
  const done = await send(() => change("make-class", { tab, name: wanted }));
  if (!done) return;
  parts.field.value = "";
  parts.field.blur();
  setState(done);
}

async function renameClass(old, wanted) {
  const merged = wanted !== old && wanted in state.counts.classes;
  const done = wanted === old ? state : await send(() => change("rename-class", { tab, old, new: wanted }));
  if (!done) return;
  setState(done);
  showClasses(done);
  if (merged) toast(`${old} is now part of ${wanted}; press undo to revert.`);
}

async function find() {
  const query = parts.search.value.trim();
  parts.hits.hidden = !query;
  if (!query) return;
  const found = await attempt(() => read("documents", { query }));
  if (!found || !parts) return;
  fill(parts.hits, found.rows.slice(0, 10).map((row) => make("li", {}, make("button", { type: "button", class: "opener", onclick: () => { parts.search.blur(); open(row.document); } },
    row.labels?.length ? make("span", { class: "chip" }, row.labels.join(", ")) : null, make("span", {}, ` ${row.excerpt}`)))));
  if (!found.rows.length) parts.hits.append(make("li", { class: "muted" }, "No text contains all these words."));
}

