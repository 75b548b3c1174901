// The Progress screen: the accuracy, classes that are confused, calibration, labels of each class.

import { attempt, change, read } from "./api.js";
import { bar, fill, make, own, percent, plural, reach } from "./dom.js";

export const name = "progress";
export const title = "Progress";

let parts = null;

export function show(place) {
  parts = { place };
  load();
}

export function leave() {
  parts = null;
}

export function update(now, before) {
  if (now.decisions !== before.decisions || now.version !== before.version) load();
}

async function load() {
  const found = await attempt(() => read("progress"));
  if (!found || !parts) return;
  const sure = found.accuracy;
  fill(parts.place, make("h2", {}, "Progress"),
    make("div", { class: "figures" },
      figure(sure ? `Expected ${sure.measure}` : "Expected accuracy", sure ? percent(sure.value) : "–",
        sure ? `${reach(sure)}, ${sure.source === "random checks" ? plural(sure.n, "random check") : `from ${plural(sure.n, "label")} that nobody chose`}`
          : `after ${found.needed} random checks; ${found.checks} so far`),
      figure("Reviewed texts", found.reviewed.toLocaleString("en"), `${plural(found.table, "label")} in the table, ${found.skipped} skipped, ${found.flagged} flagged`),
      figure("Classes", Object.keys(found.classes).length, `${Object.values(found.classes).filter((n) => !n).length} without labels`)),
    make("p", { class: "note" }, "One text in five is drawn at random, and its suggestion is hidden. Models that were fitted without its label predict it: this is how often the current model is right. Texts of none of the classes count as wrong; texts that the queue or you chose do not count."),
    found.unchecked ? make("p", { class: "note" }, found.unchecked) : null,
    found.moved ? make("p", { class: found.moved.stop ? "advice good" : "advice" }, advice(found.moved)) : null,
    found.by_class.length ? [make("h3", {}, "Random checks by class"), byClass(found.by_class)] : null,
    found.confused.length ? [make("h3", {}, "What is confused"), confused(found.confused)] : null,
    found.agreement ? [make("h3", {}, "Agreement of people"), agreement(found.agreement)] : null,
    make("h3", {}, "Labels of each class"), classes(found.classes),
    make("h3", {}, "Other methods on the same labels"), rivals(),
    found.calibration.length ? [make("h3", {}, "Calibration"), calibration(found.calibration)] : null);
}

function table(heads, rows) {
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, heads.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, rows)));
}

const share = (value) => make("td", { class: "number" }, value === null ? "–" : percent(value));

function byClass(rows) {
  return table(["Class", "Checks", "Recall", "Predicted", "Precision"], rows.map((row) => make("tr", {}, make("th", { scope: "row" }, own(row.class)),
    make("td", { class: "number" }, row.checks), share(row.recall), make("td", { class: "number" }, row.predicted), share(row.precision))));
}

const coefficient = (value) => (value === null ? "–" : value.toFixed(2));

function agreement({ texts, alpha, open, pairs }) {
  return [make("p", {}, `${plural(texts, "text")} ${texts === 1 ? "has" : "have"} labels by several people. Krippendorff’s α: ${coefficient(alpha)}. `,
    open ? `${plural(open, "text")} with different labels wait for a decision: choose them above the text under Label.` : "No disagreement is open."),
  table(["People", "Texts", "Same label", "Cohen’s κ"], pairs.map((row) => make("tr", {}, make("td", {}, own(row.one || "no name"), " and ", own(row.other || "no name")),
    make("td", { class: "number" }, row.texts), share(row.same), make("td", { class: "number" }, coefficient(row.kappa)))))];
}

function confused(rows) {
  return table(["Label", "Predicted as", "Checks"], rows.map((row) => make("tr", {}, make("td", {}, own(row.truth || "none of these")), make("td", {}, own(row.predicted || "none")), make("td", { class: "number" }, row.checks))));
}

function advice({ labels, share, stop }) {
  const moved = `The last ${labels} labels changed ${percent(share)} of the predictions, so the accuracy changed by at most that much.`;
  return stop ? `You can stop: ${moved} The next ${labels} will probably change less.` : `Go on: ${moved}`;
}

let compared = null; // the last comparison

function rivals() {
  const place = make("div");
  const button = make("button", { type: "button", onclick: async () => {
    button.disabled = true;
    button.textContent = "Comparing …";
    compared = (await attempt(() => change("compare"))) ?? compared;
    place.replaceWith(rivals());
  } }, compared ? "Compare again" : "Compare");
  if (!compared) return fill(place, make("p", { class: "muted" }, "Fits this model, logistic regression and naive Bayes to some of the labels and tests them on the others. This takes a few seconds."), button);
  const rows = Object.entries(compared.scores).sort((one, other) => other[1] - one[1]);
  return fill(place, make("table", { class: "bars" }, make("tbody", {}, rows.map(([method, score]) => make("tr", { class: method === "this model" ? "own" : null },
    make("td", {}, method), make("td", { class: "wide" }, bar(score, `${method}: ${percent(score)}`)), make("td", { class: "number" }, percent(score)))))),
  make("p", { class: "note" }, `${compared.how} They include close calls, so all methods do better on new texts.`), button);
}

function figure(text, value, detail) {
  return make("div", { class: "figure" }, make("span", { class: "name" }, text), make("strong", {}, value), make("span", { class: "muted" }, detail));
}

function classes(counts) {
  const most = Math.max(1, ...Object.values(counts));
  return make("table", { class: "bars" }, make("tbody", {}, Object.entries(counts).map(([one, count]) => make("tr", {},
    make("th", { scope: "row" }, own(one)), make("td", { class: "wide" }, bar(count / most, `${one}: ${count}`)), make("td", { class: "number" }, count)))));
}

function calibration(rows) {
  return make("table", { class: "bars" }, make("thead", {}, make("tr", {}, ["Confidence", "", "Right", "Checks"].map((text) => make("th", { scope: "col", class: text ? null : "wide" }, text || make("span", { class: "hidden-text" }, "Share"))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, make("th", { scope: "row" }, reach(row)),
      make("td", { class: "wide" }, bar(row.right, `${percent(row.right)} right`)), make("td", { class: "number" }, percent(row.right)), make("td", { class: "number" }, row.checks)))));
}
