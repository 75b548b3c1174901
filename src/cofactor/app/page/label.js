// The Label screen: one text, the classes with their probabilities, the last decisions.

import { attempt, change, read, setState, state, tab, undo } from "./api.js";
import { bar, fill, make, own, percent, plural, refill, toast } from "./dom.js";
import { showGuidelines } from "./guidelines.js";

export const name = "label";
export const title = "Label";

const KEYED = 9; // classes with a key of their own
const UNLIKE = "unlike the labelled texts";
const QUEUES = { "": "texts to label", "doubtful label": "doubtful labels", flagged: "flagged texts", [UNLIKE]: "texts unlike the labelled ones", "people disagree": "texts that people label differently" };
const SEPARATOR = /\s*(?:\/|::|>)\s*/; // between a group and a class in it
let doc = null; // the text on the screen
let chosen = new Set(); // its labels so far, if several are allowed
let waiting = false;
let parts = null;
let sections = []; // the classes in their order for this text: { head, names }
let queue = ""; // which texts come: new ones, or a reason to look again
let active = 0; // the marked row while a class is searched for

export function show(place) {
  parts = {
    head: make("header", { class: "doc-head" }),
    queue: make("select", { class: "small", "aria-label": "Which texts to show", onchange: (event) => { queue = event.target.value; event.target.blur(); next(); } }),
    text: make("article", { class: "text", dir: "auto", tabindex: "0", "aria-label": "Text" }),
    legend: make("p", { class: "note legend" }),
    columns: make("dl", { class: "columns", hidden: true }),
    note: make("input", { class: "search text-note", placeholder: "Note on this text", maxlength: "2000", dir: "auto", autocomplete: "off", "aria-label": "Note on this text", onchange: writeNote, onkeydown: noteKey }),
    guidelines: make("section", { class: "guidelines", "aria-label": "Guidelines", tabindex: "0", hidden: true }),
    classes: make("div", { class: "classes", role: "group", "aria-label": "Classes", onkeydown: confirmByEnter }),
    matches: make("ul", { class: "matches", id: "matches", role: "listbox", "aria-label": "Found classes", hidden: true }),
    field: make("input", { class: "search", placeholder: "Find or name a class", maxlength: "200", autocomplete: "off", role: "combobox", "aria-label": "Find or name a class", "aria-expanded": "false", "aria-controls": "matches", "aria-autocomplete": "list", oninput: showMatches, onkeydown: fieldKey }),
    actions: make("div", { class: "actions" }),
    last: make("ol", { class: "last", "aria-label": "Last decisions" }),
    search: make("input", { class: "search", type: "search", placeholder: "Search the texts", "aria-label": "Search the texts" }),
    hits: make("ol", { class: "last", "aria-label": "Found texts", hidden: true }),
  };
  parts.finder = make("form", { class: "text-finder", onsubmit: (event) => { event.preventDefault(); findText(); } }, parts.search, make("kbd", {}, "/"));
  parts.search.addEventListener("keydown", (event) => { if (event.key === "Escape") { parts.search.blur(); parts.hits.hidden = true; } });
  fill(place, make("h2", { class: "hidden-text" }, "Label"), make("div", { class: "label-screen" },
    make("section", { class: "reading", "aria-label": "Text to label" }, make("div", { class: "reading-head" }, parts.head, parts.queue), parts.columns, parts.text, parts.legend),
    make("aside", { class: "deciding", "aria-label": "Decision" }, make("div", { class: "class-finder" }, parts.field, make("kbd", {}, "c")), parts.matches, parts.classes, parts.actions),
    make("div", { class: "below" }, parts.guidelines, make("section", { class: "earlier", "aria-label": "Notes and earlier decisions" }, parts.note, make("div", { class: "head" }, make("h3", {}, "Last decisions"), parts.finder), parts.hits, parts.last))));
  showGuidelines(parts.guidelines);
  update(state, null);
  if (doc) showDocument(doc); else next();
}

export function leave() {
  parts = null;
}

export function update(now, before) {
  if (!parts) return;
  const changed = !before || before.decisions !== now.decisions || before.version !== now.version;
  if (changed) {
    if (namesOf(before).join("\n") !== namesOf(now).join("\n")) arrange();
    showClasses();
    showQueues(now);
    showLast(now);
    if (!before && !namesOf(now).length) parts.field.focus(); // the first class is to be named
  }
  if (doc === null && !waiting && !queue && (changed || !now.busy)) next();
}

export const keys = [
  ...Array.from({ length: KEYED }, (_, place) => ({ key: String(place + 1), shown: "1 … 9", does: place ? null : "choose a class", run: () => choose(keyed()[place]) })),
  { key: "c", does: "find or name a class", run: () => parts?.field.focus() },
  { key: "n", run: () => parts?.field.focus() },
  { key: "Enter", does: "confirm several labels", run: confirm },
  { key: "a", does: "accept the suggestion", run: accept },
  { key: "x", does: "none of these classes", run: () => decide([]) },
  { key: " ", shown: "space", does: "skip", run: skip },
  { key: "Backspace", shown: "⌫", does: "undo", run: () => takeBack() },
  { key: "f", does: "flag, or remove the flag", run: flag },
  { key: "m", does: "write a note on the text", run: () => parts?.note.focus() },
  { key: "/", does: "search the texts", run: () => parts?.search.focus() },
];

// ---- the text

function showQueues(now) {
  const sizes = { "people disagree": now.people > 1 ? now.disagreements : null, flagged: now.counts.flagged || null, [UNLIKE]: now.unlike || null, "doubtful label": now.several ? null : "", "": "" };
  const offered = Object.entries(QUEUES).filter(([one]) => one === queue || sizes[one] !== null);
  fill(parts.queue, offered.map(([value, text]) => make("option", { value, selected: value === queue }, sizes[value] === "" ? text : `${text} (${sizes[value] ?? 0})`)));
}

async function next() {
  waiting = true;
  const found = await attempt(() => read("next", { tab, queue }));
  waiting = false;
  showDocument(found ? found.document : null);
}

async function open(place) {
  const found = await attempt(() => read("document", { place, tab }));
  if (found) showDocument(found);
}

function showDocument(found) {
  doc = found;
  chosen = new Set(found?.labels ?? []);
  if (!parts) return;
  arrange();
  showClasses();
  showActions();
  showColumns(found?.columns ?? []);
  parts.note.value = found?.note ?? "";
  parts.note.hidden = !found;
  if (!found) {
    const why = queue ? `There are no more ${QUEUES[queue]} at the moment.` : waiting ? "Choosing the next texts …" : state.exhausted ? "No text is left to label."
      : "The last texts are open in other tabs or with other people. You can still search for one.";
    fill(parts.head);
    fill(parts.text, make("p", { class: "muted" }, why));
    parts.legend.textContent = "";
    return;
  }
  fill(parts.head, make("span", { class: `badge ${found.reason.split(" ")[0]}` }, found.reason),
    make("span", { class: "muted" }, `row ${found.name}`), found.date && make("span", { class: "muted" }, found.date),
    make("span", { class: "muted topic" }, found.topic >= 0 ? own(found.topic_name) : "no topic"),
    found.flagged && make("span", { class: "badge flag" }, "flagged"),
    found.unlike && !found.source && found.reason !== UNLIKE && make("span", { class: "badge" }, `▲ ${UNLIKE}`),
    found.source && make("span", { class: "badge done" }, found.source === "table" ? "label in the table" : "reviewed"));
  fill(parts.text, found.segments.map(([text, level]) => (level
    ? make("mark", { class: level > 0 ? `for${level}` : `against${-level}` }, text) : text)),
  found.cut ? make("p", { class: "note" }, `${plural(found.cut, "further character")} not shown`) : null);
  parts.text.scrollTop = 0;
  showLegend(found);
}

// Other columns of the table. Only an address of the web becomes a link.
function showColumns(columns) {
  parts.columns.hidden = !columns.length;
  fill(parts.columns, columns.map(({ name: head, text }) => make("div", {}, make("dt", {}, own(head)),
    make("dd", {}, /^https?:\/\/\S+$/.test(text) ? make("a", { href: text, target: "_blank", rel: "noreferrer" }, text) : own(text)))));
}

async function writeNote() {
  if (!doc) return;
  const current = doc;
  const text = parts.note.value;
  const done = await send(() => change("note", { tab, document: current.document, text }));
  if (!done) return;
  current.note = text.trim();
  setState(done);
  toast(text.trim() ? "Note saved." : "Note removed.");
}

function noteKey(event) {
  if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
  if (event.key === "Escape") parts.note.value = doc?.note ?? "";
  parts.text.focus({ preventScroll: true });
}

function showLegend(found) {
  if (found.opinions.length) {
    fill(parts.legend, found.opinions.map((one) => [own(one.who || "somebody"), ": ", make("span", { class: "chip" }, own(one.labels.length ? one.labels.join(", ") : "none")), " "]).flat());
  } else if (found.blind) {
    parts.legend.textContent = found.reason === "second opinion"
      ? "Second opinion: somebody else has labelled this text. The label is hidden, so that you decide independently."
      : "Random check: what the model suggests is hidden, so that your decision is a fair test of it.";
  } else if (found.leading === null) {
    parts.legend.textContent = "";
  } else {
    fill(parts.legend, make("mark", { class: "for2" }, "favours"), " ", own(found.leading),
      found.rival === null ? "" : [" · ", make("mark", { class: "against2" }, "favours"), " ", own(found.rival)],
      state.unchecked && [" · ", make("span", { title: state.unchecked }, "confidences unchecked")]);
  }
}

// ---- the classes

const namesOf = (now) => Object.keys(now?.counts.classes ?? {});
const alphabet = new Intl.Collator(undefined, { numeric: true });
const keyed = () => sections.flatMap((one) => (one.keyed ? one.names : [])).slice(0, KEYED);

// Few classes keep their places, so that fingers learn them. Of many, the most probable come first.
// The order stays while a text is on the screen: nobody clicks on a row that has just moved.
function arrange() {
  const names = namesOf(state);
  if (names.length <= KEYED) {
    sections = [{ head: null, names, keyed: true }];
    return;
  }
  const sorted = [...names].sort(alphabet.compare);
  const recent = state.recent.filter((one) => names.includes(one));
  const likely = (doc?.probabilities ?? []).map((one) => one.label).filter((one) => names.includes(one));
  const first = [...new Set([...(likely.length ? likely : recent), ...recent, ...sorted])].slice(0, KEYED);
  const again = likely.length ? recent.filter((one) => !first.includes(one)) : [];
  const rest = sorted.filter((one) => !first.includes(one) && !again.includes(one));
  sections = [{ head: likely.length ? "Most probable" : "Recent", names: first, keyed: true },
    { head: "Recent", names: again }, ...grouped(rest)].filter((one) => one.names.length);
}

// Classes like “card/lost” stand together under “card”.
function grouped(names) {
  const groups = new Map();
  for (const one of names) {
    const cut = one.split(SEPARATOR);
    const group = cut.length > 1 && cut[0] ? cut[0] : "";
    groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  return [...groups].sort(([one], [other]) => alphabet.compare(one, other))
    .map(([group, some]) => ({ head: group || "Other classes", group, names: some }));
}

function suggested(found) {
  return found && !found.blind ? found.prediction : null;
}

function showClasses() {
  if (!parts) return;
  const shares = new Map((doc?.probabilities ?? []).map((one) => [one.label, one.probability]));
  const hints = new Set(suggested(doc) ?? []);
  const numbers = new Map(keyed().map((one, place) => [one, place + 1]));
  parts.classes.classList.toggle("few", sections.length === 1);
  refill(parts.classes, sections.filter((section) => section.names.length).map((section) => make("section", { class: "class-group" },
    section.head && make("h3", {}, own(section.head)),
    make("ul", {}, section.names.map((one) => make("li", {}, classButton(one, section.group, numbers.get(one), shares.get(one), hints.has(one))))))));
}

function classButton(one, group, number, share, hint) {
  const count = state.counts.classes[one];
  const about = state.descriptions[one];
  return make("button", { type: "button", class: hint ? "class hint" : "class", "data-key": `class ${one}`, title: about ? `${one}: ${about}` : one, "aria-pressed": chosen.has(one) ? "true" : "false", onclick: () => choose(one) },
    number ? make("kbd", {}, number) : null, own(group ? one.slice(one.search(SEPARATOR)).replace(SEPARATOR, "") || one : one, { class: "name" }),
    hint ? make("span", { class: "badge" }, "Suggestion") : null,
    make("span", { class: "number muted" }, share === undefined ? plural(count ?? 0, "label") : percent(share)),
    share === undefined ? null : bar(share, `${one}: ${percent(share)}`));
}

function showActions() {
  const hint = suggested(doc);
  const action = (text, key, run, attributes = {}) => make("button", { type: "button", onclick: run, ...attributes }, text, " ", make("kbd", {}, key));
  refill(parts.actions,
    state.several && action("Confirm", "enter", confirm, { class: "confirm" }),
    action(hint?.length ? make("span", { class: "accept" }, "Accept ", own(hint.join(", "))) : "Accept", "a", accept, { class: state.several ? null : "confirm", "data-key": "accept", disabled: hint === null }),
    action("None", "x", () => decide([]), { title: "None of these classes" }), action("Skip", "␣", skip), action("Flag", "f", flag), action("Undo", "⌫", () => takeBack()));
}

// Typing narrows the classes down; Enter takes the marked one.

function matching() {
  const wanted = parts.field.value.trim().replace(/\s+/g, " ");
  const words = wanted.toLowerCase().split(" ");
  const found = namesOf(state).filter((one) => words.every((word) => one.toLowerCase().includes(word)));
  const start = (one) => (one.toLowerCase().startsWith(wanted.toLowerCase()) ? 0 : 1);
  found.sort((one, other) => start(one) - start(other) || alphabet.compare(one, other));
  const known = namesOf(state).some((one) => one.toLowerCase() === wanted.toLowerCase());
  return wanted ? [...found.map((one) => ({ one })), ...(known ? [] : [{ one: wanted, create: true }])] : [];
}

function showMatches() {
  const found = matching();
  active = 0;
  parts.matches.hidden = !found.length;
  parts.classes.hidden = found.length > 0;
  parts.field.setAttribute("aria-expanded", String(found.length > 0));
  fill(parts.matches, found.map((match, place) => make("li", { role: "option", id: `match-${place}`, class: "match", onclick: () => take(match) },
    match.create ? [make("span", { class: "badge" }, "New class"), " "] : null, own(match.one, { class: "name" }))));
  markMatch(0);
}

function markMatch(place) {
  const rows = [...parts.matches.children];
  if (!rows.length) {
    parts.field.removeAttribute("aria-activedescendant");
    return;
  }
  active = (place + rows.length) % rows.length;
  rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === active)));
  rows[active].scrollIntoView({ block: "nearest" });
  parts.field.setAttribute("aria-activedescendant", rows[active].id);
}

function fieldKey(event) {
  if (event.isComposing) return;
  const found = matching();
  if (event.key === "Enter") {
    event.preventDefault();
    if (found[active]) take(found[active]); else if (state.several) { closeFinder(); confirm(); }
  } else if (event.key === "Escape") closeFinder();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    markMatch(active + (event.key === "ArrowDown" ? 1 : -1));
  }
}

function closeFinder() {
  parts.field.value = "";
  showMatches();
  parts.text.focus({ preventScroll: true });
}

// A new class labels the text, so that naming it is the whole decision.
async function take({ one, create }) {
  closeFinder();
  if (!create) choose(one);
  else if (doc && !state.several) decide([one], true);
  else {
    const done = await send(() => change("make-class", { tab, name: one }));
    if (!done) return;
    setState(done);
    choose(one);
  }
}

// ---- what is decided

function showLast(now) {
  refill(parts.last, now.last.map((one) => make("li", {},
    opener(one.labels === null ? "skipped" : one.labels.join(", ") || "none", one.documents > 1 ? `${one.documents} texts` : one.excerpt, { "data-key": `open ${one.number}`, onclick: () => open(one.document) }),
    make("button", { type: "button", class: "small", "data-key": `undo ${one.number}`, "aria-label": "Undo this decision", title: "Undo this decision", onclick: () => takeBack(one.number) }, "⌫"))));
  if (!now.last.length) {
    fill(parts.last, ["Your last decisions appear here. Each can be undone.", "Press ? for all keyboard shortcuts.",
      "You can stop at any time: every decision is saved at once."].map((text) => make("li", { class: "muted" }, text)));
  }
}

// One line about a text; where it is cut off, its beginning stays, in either direction.
function opener(label, excerpt, attributes) {
  return make("button", { type: "button", class: "opener", ...attributes }, label ? make("span", { class: "chip" }, own(label)) : null, " ", own(excerpt, { class: "muted" }));
}

let sending = Promise.resolve();

// Decisions are sent one after another, in the order of the keystrokes.
function send(work) {
  sending = sending.then(() => attempt(work));
  return sending;
}

// Sends a decision that closes this text. Until the next text is there, keys decide nothing: they
// would apply to a text that nobody has seen. The focus goes to the text: on a button, the next
// press of a key would be a click.
async function finish(name, content) {
  if (!doc) return;
  const current = doc;
  doc = null;
  waiting = true;
  parts?.text.focus({ preventScroll: true });
  const done = await send(() => change(name, { tab, document: current.document, ...content }));
  if (done) {
    setState(done);
    await next();
  } else {
    waiting = false;
    showDocument(current);
  }
}

function decide(labels, create = false) {
  return finish("label", { labels, create });
}

function choose(one) {
  if (one === undefined || !doc) return;
  if (!state.several) {
    decide([one]);
    return;
  }
  if (!chosen.delete(one)) chosen.add(one);
  showClasses();
}

function confirm() {
  if (state.several && chosen.size) decide([...chosen]);
}

// Enter on a class confirms what is chosen, as everywhere on this screen; space chooses.
function confirmByEnter(event) {
  if (event.key !== "Enter" || !state.several || !chosen.size) return;
  event.preventDefault();
  event.stopPropagation();
  if (!event.repeat) confirm();
}

function accept() {
  const labels = suggested(doc);
  if (doc?.blind) toast("This is a random check: decide without the suggestion.");
  else if (labels === null) toast("There is no suggestion yet.");
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

async function takeBack(number) {
  const done = await send(() => undo(number));
  if (done && done.document !== null) open(done.document);
}

async function findText() {
  const query = parts.search.value.trim();
  parts.hits.hidden = !query;
  if (!query) return;
  const found = await attempt(() => read("documents", { query }));
  if (!found || !parts) return;
  fill(parts.hits, found.rows.slice(0, 10).map((row) => make("li", {}, opener((row.labels ?? []).join(", "), row.excerpt, { onclick: () => { parts.search.blur(); open(row.document); } }))));
  if (!found.rows.length) parts.hits.append(make("li", { class: "muted" }, "No text contains all these words."));
}
