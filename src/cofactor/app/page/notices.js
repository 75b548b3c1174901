// Decisions that are not where they should be: how many, which, and how to take them back.

import { attempt, change, read, setState, tab } from "./api.js";
import { fill, make, own, plural, toast } from "./dom.js";

const place = document.getElementById("notices");
const dialog = document.getElementById("found");
const put = new Set(); // notices that were put aside
let shown = "";

export function noticesOf(now) {
  const found = [now.lost && lost(now), now.lacking && lacking(now.lacking), now.counts.elsewhere && elsewhere(now.counts.elsewhere)]
    .filter((one) => one && !put.has(one.key));
  const key = found.map((one) => one.key).join();
  if (key === shown) return;
  shown = key;
  fill(place, found.map((one) => make("div", { class: "notice", role: "alert" }, make("span", {}, one.text), make("span", { class: "controls" }, one.buttons))));
}

const button = (text, run) => make("button", { type: "button", onclick: run }, text);

function aside(key) {
  return button("Later", () => { put.add(key); shown = ""; fill(place); });
}

function lost(now) {
  return { key: `lost ${now.lost}`, text: now.lost, buttons: [button("Write them back", () => send("restore-log", "The log is whole again."))] };
}

function lacking(number) {
  const key = `lacking ${number}`;
  return {
    key, text: `The log beside the model lacks ${plural(number, "decision")} that the model was saved with. A copy of them is in the model folder.`,
    buttons: [button("Look at them", showLacking), button("Take them back", () => send("restore-log", "They are back.")),
      button("Do without them", () => send("forget-copy", "The copy is given up.")), aside(key)],
  };
}

function elsewhere(number) {
  const key = `elsewhere ${number}`;
  return { key, text: `${plural(number, "decision")} ${number === 1 ? "is" : "are"} about texts that are not in this table, perhaps because they were changed.`, buttons: [button("Look at them", showElsewhere), aside(key)] };
}

async function send(name, text, content = {}) {
  const done = await attempt(() => change(name, content));
  if (!done) return;
  dialog.close();
  setState(done);
  toast(text);
}

function showFound(title, rows, ...buttons) {
  fill(dialog, make("h2", { id: "found-title", tabindex: "-1", autofocus: true }, title),
    make("div", { class: "scroll" }, make("table", {}, make("tbody", {}, rows))),
    make("div", { class: "actions" }, buttons, button("Close", () => dialog.close())));
  dialog.showModal();
  dialog.scrollTop = 0;
}

const chip = (labels) => make("span", { class: "chip" }, own(labels?.length ? labels.join(", ") : "none"));

async function showLacking() {
  const found = await attempt(() => read("lacking"));
  if (!found) return;
  const rows = found.rows.map((row) => make("tr", {}, make("td", {}, chip(row.labels)), make("td", {}, own(row.excerpt ?? "")), make("td", { class: "muted" }, row.at.slice(0, 10))));
  showFound(`${plural(found.found, "label")} that the log lacks`, rows);
}

async function showElsewhere() {
  const found = await attempt(() => read("elsewhere"));
  if (!found) return;
  const sure = Object.fromEntries(found.rows.filter((row) => row.document !== null).map((row) => [row.key, row.document]));
  const rows = found.rows.map((row) => make("tr", {}, make("td", {}, chip(row.labels)),
    make("td", {}, row.excerpt === null ? make("span", { class: "muted" }, "an earlier version did not keep the beginning of the text") : own(row.excerpt)),
    make("td", {}, row.document === null ? make("span", { class: "muted" }, "no text here resembles it")
      : [own(row.now), " ", button("Take over", () => send("take-over", "Taken over.", { tab, pairs: { [row.key]: row.document } }))])));
  const number = Object.keys(sure).length;
  showFound(`${plural(found.found, "label")} of texts that are not in this table`, rows,
    number ? button(`Take over all ${number} that have a likely text`, () => send("take-over", "Taken over.", { tab, pairs: sure })) : null);
}
