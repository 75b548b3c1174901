// The Progress screen: accuracy on random checks, calibration, labels of each class.

import { attempt, change, read } from "./api.js";
import { bar, draw, fill, make, percent, plural, reach } from "./dom.js";

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
  if (before && (now.decisions !== before.decisions || now.version !== before.version)) load();
}

async function load() {
  const found = await attempt(() => read("progress"));
  if (!found || !parts) return;
  const last = found.accuracy.at(-1);
  fill(parts.place, make("h2", {}, "Progress"),
    make("div", { class: "figures" },
      figure("Accuracy on random checks", last ? percent(last.accuracy) : "–", last ? `${reach(last)}, ${plural(last.checks, "check")}` : "no random check has been labelled yet"),
      figure("Expected from held-out labels", found.expected ? percent(found.expected.value) : "–", found.expected ? `${found.expected.measure}, ${reach(found.expected)}` : "needs some labels of each class"),
      figure("Reviewed texts", found.reviewed.toLocaleString("en"), `${plural(found.table, "label")} in the table, ${found.skipped} skipped, ${found.flagged} flagged`)),
    make("p", { class: "note" }, "One text in five is drawn at random. It is compared with what the model predicted before it knew the label, so these numbers are fair; close calls do not count."),
    found.moved ? make("p", { class: found.moved.stop ? "advice good" : "advice" }, advice(found.moved)) : null,
    found.accuracy.length > 1 ? [make("h3", {}, "Accuracy by number of labels"), curve(found.accuracy)] : null,
    make("h3", {}, "Labels of each class"), classes(found.classes),
    make("h3", {}, "Other methods on the same labels"), rivals(),
    found.calibration.length ? [make("h3", {}, "Calibration"), calibration(found.calibration)] : null);
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
    make("th", { scope: "row" }, one), make("td", { class: "wide" }, bar(count / most, `${one}: ${count}`)), make("td", { class: "number" }, count)))));
}

function calibration(rows) {
  return make("table", { class: "bars" }, make("thead", {}, make("tr", {}, ["Confidence", "", "Right", "Checks"].map((text) => make("th", { scope: "col", class: text ? null : "wide" }, text || make("span", { class: "hidden-text" }, "Share"))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, make("th", { scope: "row" }, reach(row)),
      make("td", { class: "wide" }, bar(row.right, `${percent(row.right)} right`)), make("td", { class: "number" }, percent(row.right)), make("td", { class: "number" }, row.checks)))));
}

const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 44;
const BELOW = 26;

function curve(points) {
  const most = Math.max(...points.map((point) => point.labels));
  const x = (labels) => LEFT + ((WIDTH - LEFT - 8) * labels) / most;
  const y = (share) => 8 + (HEIGHT - BELOW - 8) * (1 - share);
  const line = points.map((point) => `${x(point.labels).toFixed(1)},${y(point.accuracy).toFixed(1)}`).join(" ");
  const band = [...points.map((point) => `${x(point.labels).toFixed(1)},${y(point.high).toFixed(1)}`),
    ...points.map((point) => `${x(point.labels).toFixed(1)},${y(point.low).toFixed(1)}`).reverse()].join(" ");
  const text = (content, attributes) => { const element = draw("text", attributes); element.textContent = content; return element; };
  return draw("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Accuracy on random checks: ${percent(points.at(-1).accuracy)} after ${plural(most, "label")}` },
    ...[0, 0.25, 0.5, 0.75, 1].flatMap((share) => [draw("line", { class: "rule", x1: LEFT, x2: WIDTH - 8, y1: y(share), y2: y(share) }),
      text(percent(share), { x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" })]),
    draw("polygon", { class: "band", points: band }), draw("polyline", { class: "line", points: line }),
    text("0", { x: LEFT, y: HEIGHT - 6 }), text(plural(most, "label"), { x: WIDTH - 8, y: HEIGHT - 6, "text-anchor": "end" }));
}
