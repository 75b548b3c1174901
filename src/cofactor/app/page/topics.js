// The Topics screen: a card for each topic, and a preview of what an edit would move.

import { attempt, change, read, tab } from "./api.js";
import { bar, fill, make, percent, plural, refill, toast } from "./dom.js";

export const name = "topics";
export const title = "Topics";
export const keys = [{ key: "Backspace", shown: "⌫", does: "undo the last edit", run: undo }];

let parts = null;
let found = null; // the answer of the server
let open = null; // the word whose menu is open: "topic word"

export function show(place) {
  parts = {
    undo: make("button", { type: "button", onclick: undo }, "Undo ", make("kbd", {}, "⌫")),
    stability: make("button", { type: "button", title: "Refits on bootstrap samples of the texts and looks for each topic there", onclick: measure }, "Measure stability"),
    cards: make("div", { class: "cards" }),
    trial: make("dialog", { class: "trial", "aria-labelledby": "trial-title" }),
  };
  fill(place, make("div", { class: "head" }, make("h2", {}, "Topics"), make("div", { class: "controls" }, parts.stability, parts.undo)),
    parts.cards, parts.trial);
  load();
}

export function leave() {
  parts = null;
}

export function update(now, before) {
  if (now.version !== before.version || now.shape !== before.shape) load();
}

async function load() {
  const answer = await attempt(() => read("topics"));
  if (answer && parts && !parts.cards.contains(document.activeElement?.closest("input"))) showCards(answer);
}

function showCards(answer) {
  found = answer;
  parts.undo.disabled = !answer.edits.length;
  parts.undo.title = answer.edits.length ? `Undo: ${answer.edits.at(-1)}` : "No topic has been edited since the app started";
  refill(parts.cards, answer.topics.map(card));
}

// ---- cards

function card(topic) {
  const field = make("input", { class: "rename", value: topic.name, "aria-label": `Name of topic ${topic.topic}`, maxlength: "200" });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") field.blur();
    if (event.key === "Escape") { field.value = topic.name; field.blur(); }
  });
  field.addEventListener("change", () => { if (field.value.trim() && field.value !== topic.name) edit("rename", { topic: topic.topic, name: field.value }); });
  const element = make("section", { class: topic.frozen ? "card frozen" : "card", "aria-label": topic.name, draggable: "true", "data-topic": topic.topic },
    make("header", {}, make("span", { class: "swatch" }, topic.topic), field, topic.frozen && make("span", { class: "badge" }, "frozen")),
    make("p", { class: "facts muted" }, facts(topic)),
    bar(topic.share, `${percent(topic.share)} of the texts`),
    make("ul", { class: "topic-words" }, topic.words.map((word) => wordItem(topic, word)),
      topic.banned.map((word) => make("li", {}, make("button", { type: "button", class: "word banned", title: "Banned; click to pin it", onclick: () => attemptEdit("pin", { topic: topic.topic, word }) }, word)))),
    actions(topic));
  dragging(element, topic);
  return element;
}

function facts(topic) {
  const parts = [plural(topic.documents, "text"), percent(topic.share)];
  if (topic.label !== null) parts.push(`${topic.label} ${percent(topic.label_weight)}`);
  if (topic.labels !== null) parts.push(`${plural(topic.labels, "label")} behind it`);
  if (topic.stability !== null) parts.push(`stability ${percent(topic.stability)}`);
  return parts.flatMap((part, place) => [make("span", {}, place + 1 < parts.length ? `${part} ·` : part), " "]);
}

function wordItem(topic, word) {
  const pinned = topic.pinned.includes(word);
  const key = `${topic.topic} ${word}`;
  const button = make("button", { type: "button", class: pinned ? "word pinned" : "word", "data-key": `word ${key}`, "aria-expanded": open === key ? "true" : "false", onclick: () => { open = open === key ? null : key; showCards(found); } },
    pinned ? `${word} ★` : word);
  if (open !== key) return make("li", {}, button);
  return make("li", {}, button, make("span", { class: "menu" },
    !pinned && make("button", { type: "button", class: "small pin", "data-key": `pin ${key}`, onclick: () => attemptEdit("pin", { topic: topic.topic, word }) }, "Pin"),
    make("button", { type: "button", class: "small ban", "data-key": `ban ${key}`, onclick: () => attemptEdit("ban", { topic: topic.topic, word }) }, "Ban")));
}

function actions(topic) {
  const merge = make("select", { "aria-label": `Merge ${topic.name} with`, onchange: (event) => { const other = Number(event.target.value); event.target.value = ""; attemptEdit("merge", { topics: [other, topic.topic] }); } },
    make("option", { value: "" }, "Merge with …"),
    found.topics.filter((other) => other.topic !== topic.topic).map((other) => make("option", { value: other.topic }, `${other.topic} ${other.name}`)));
  const frozen = topic.frozen ? "thaw" : "freeze";
  const button = (text, run) => make("button", { type: "button", "aria-label": `${text} topic ${topic.topic}`, "data-key": `${topic.topic} ${text === "Thaw" ? "Freeze" : text}`, onclick: run }, text);
  return make("div", { class: "controls topic-actions" }, merge,
    button("Split", () => attemptEdit("split", { topic: topic.topic, into: 2 })),
    button(topic.frozen ? "Thaw" : "Freeze", () => edit(frozen, { topic: topic.topic })),
    button("Drop", () => attemptEdit("drop", { topic: topic.topic })));
}

function dragging(element, topic) {
  element.addEventListener("dragstart", (event) => {
    if (event.target.closest?.("input")) return;
    event.dataTransfer.setData("application/x-topic", String(topic.topic));
    event.dataTransfer.effectAllowed = "move";
  });
  element.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("application/x-topic")) { event.preventDefault(); element.classList.add("target"); } });
  element.addEventListener("dragleave", () => element.classList.remove("target"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("target");
    const other = Number(event.dataTransfer.getData("application/x-topic"));
    if (other !== topic.topic) attemptEdit("merge", { topics: [topic.topic, other] });
  });
}

// ---- edits

const SAYS = {
  merge: ({ topics }) => `Merge topic ${topics[1]} into topic ${topics[0]}`,
  drop: ({ topic }) => `Drop topic ${topic}`,
  split: ({ topic, into }) => `Split topic ${topic} into ${into}`,
  pin: ({ topic, word }) => `Pin “${word}” to topic ${topic}`,
  ban: ({ topic, word }) => `Ban “${word}” from topic ${topic}`,
};

async function edit(kind, given) {
  const answer = await attempt(() => change("edit", { tab, edit: kind, arguments: given }));
  if (answer && parts) showCards(answer);
}

async function attemptEdit(kind, given) {
  open = null;
  fill(parts.trial, make("h2", { id: "trial-title" }, SAYS[kind](given)), make("p", { class: "muted" }, "Trying it …"));
  parts.trial.showModal();
  const trial = await attempt(() => change("try-edit", { edit: kind, arguments: given }));
  if (!parts) return;
  if (!trial) {
    parts.trial.close();
    return;
  }
  showTrial(SAYS[kind](given), trial);
}

function showTrial(says, trial) {
  const rows = trial.drift.map((row) => make("tr", {},
    make("td", {}, make("span", { class: "swatch" }, row.topic), " ", row.name, row.before === null ? " (new)" : ""),
    make("td", {}, row.gained.map((word) => make("span", { class: "chip gained" }, `+ ${word}`)), row.lost.map((word) => make("span", { class: "chip lost" }, `− ${word}`))),
    make("td", { class: "number" }, row.came ? `+${row.came}` : "", row.went ? ` −${row.went}` : ""),
    make("td", { class: "number" }, row.predictions || "")));
  fill(parts.trial, make("h2", { id: "trial-title" }, says),
    make("p", {}, `${plural(trial.documents, "text")} would move to another topic, and ${plural(trial.predictions, "prediction")} would change.`),
    rows.length ? make("div", { class: "scroll" }, make("table", { class: "drift" }, make("thead", {}, make("tr", {}, ["Topic", "Words", "Texts", "Predictions"].map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, rows))) : null,
    make("div", { class: "actions" }, make("button", { type: "button", class: "confirm", onclick: () => accept(trial.trial) }, "Accept"),
      make("button", { type: "button", class: "take-back", onclick: () => parts.trial.close() }, "Discard")));
  parts.trial.querySelector(".take-back").focus();
}

async function accept(number) {
  const answer = await attempt(() => change("accept-edit", { tab, trial: number }));
  if (!parts) return;
  parts.trial.close();
  if (answer) {
    showCards(answer);
    toast("Done. You can undo it.");
  }
}

async function measure() {
  parts.stability.disabled = true;
  parts.stability.textContent = "Measuring …";
  const answer = await attempt(() => change("stability"));
  if (!parts) return;
  parts.stability.disabled = false;
  parts.stability.textContent = "Measure stability";
  if (answer) showCards(answer);
}

async function undo() {
  const answer = await attempt(() => change("undo-edit", { tab }));
  if (!answer || !parts) return;
  showCards(answer);
  toast(answer.undone ? `Undone: ${answer.undone}.` : "There is no edit to undo.");
}
