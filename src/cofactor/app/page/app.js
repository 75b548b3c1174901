// The frame: screens, status, what to do next, errors.

import { listen, poll, state } from "./api.js";
import { fill, make, percent, plural, reach } from "./dom.js";
import { setKeys, showKeys } from "./keys.js";
import { nextStep } from "./next.js";
import { noticesOf } from "./notices.js";
import * as classes from "./classes.js";
import * as documents from "./documents.js";
import * as label from "./label.js";
import * as progress from "./progress.js";
import * as save from "./save.js";
import * as topics from "./topics.js";

const SCREENS = [label, classes, topics, documents, progress, save];
const place = document.getElementById("screen");
const find = (id) => document.getElementById(id);
let shown = null;

function screenOf(hash) {
  return SCREENS.find((screen) => `#${screen.name}` === hash) ?? SCREENS[0];
}

function show() {
  const next = screenOf(location.hash);
  if (shown && shown.leave) shown.leave();
  shown = next;
  document.title = `${next.title} – cofactor`;
  fill(find("screens"), SCREENS.map((screen) => make("a", {
    href: `#${screen.name}`, "aria-current": screen === next ? "page" : null,
  }, screen.title)));
  setKeys([...(next.keys ?? []), { key: "?", does: "show all shortcuts", run: showKeys }]);
  find("next").textContent = nextStep(next.name, state);
  next.show(place);
}

function troubleOf(now, unreachable) {
  if (unreachable) return unreachable;
  if (now.overtaken) return "Another run of the app has edited the topics of this model. Your decisions are still saved, but the model is not. Stop this run and start the command again.";
  return now.trouble ? `The last fit failed, so the previous model stays in use: ${now.trouble}` : "";
}

const sourceOf = ({ n, source }) => (source === "random checks" ? plural(n, "random check") : plural(n, "label"));

function showStatus(now, before, unreachable) {
  const said = now || unreachable ? troubleOf(now, unreachable) : "";
  find("trouble").hidden = !said;
  find("trouble").textContent = said;
  if (now === null) return;
  const parts = [plural(now.counts.reviewed + now.counts.table, "label"), plural(now.counts.documents, "text")];
  if (now.accuracy) parts.push(`${now.accuracy.measure} ${percent(now.accuracy.value)} (${reach(now.accuracy)}, ${sourceOf(now.accuracy)})`);
  if (now.busy) parts.push("fitting …");
  if (now.unreadable) parts.push(`${plural(now.unreadable, "line")} of the log cannot be read`);
  find("status").textContent = parts.join(" · ");
  if (shown) find("next").textContent = nextStep(shown.name, now);
  noticesOf(now, before);
}

listen(showStatus);
// Screens read the state, so the first one is shown when the state is there.
listen((now, before) => {
  if (now && !shown) show();
  else if (now) shown.update?.(now, before);
});
window.addEventListener("hashchange", () => { if (shown) show(); });
find("keys-button").addEventListener("click", showKeys);
await poll();
