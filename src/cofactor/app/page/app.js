// The frame: screens, status, errors.

import { listen, poll } from "./api.js";
import { fill, make, percent, plural, reach } from "./dom.js";
import { setKeys, showKeys } from "./keys.js";
import * as documents from "./documents.js";
import * as label from "./label.js";
import * as progress from "./progress.js";
import * as save from "./save.js";
import * as topics from "./topics.js";

const SCREENS = [label, topics, documents, progress, save];
const place = document.getElementById("screen");
let shown = null;

function screenOf(hash) {
  return SCREENS.find((screen) => `#${screen.name}` === hash) ?? SCREENS[0];
}

function show() {
  const next = screenOf(location.hash);
  if (shown && shown.leave) shown.leave();
  shown = next;
  document.title = `${next.title} – cofactor`;
  fill(document.getElementById("screens"), SCREENS.map((screen) => make("a", {
    href: `#${screen.name}`, "aria-current": screen === next ? "page" : null,
  }, screen.title)));
  setKeys([...(next.keys ?? []), { key: "?", does: "show all shortcuts", run: showKeys }]);
  next.show(place);
}

function troubleOf(now) {
  if (now.lost) return `The server does not respond: ${now.lost} Your decisions so far are saved.`;
  if (now.overtaken) return "Another run of the app has edited the topics of this model. Your decisions are still saved, but the model is not. Stop this run and start the command again.";
  return now.trouble ? `The last fit failed, so the previous model stays in use: ${now.trouble}` : "";
}

function showStatus(now) {
  const status = document.getElementById("status");
  const trouble = document.getElementById("trouble");
  if (now === null) return;
  const parts = [plural(now.counts.reviewed + now.counts.table, "label"), `${plural(now.counts.documents, "text")}`];
  if (now.expected) parts.push(`${now.expected.measure} ${percent(now.expected.value)} (${reach(now.expected)})`);
  if (now.busy) parts.push("fitting …");
  if (now.unreadable) parts.push(`${plural(now.unreadable, "line")} of the log cannot be read`);
  fill(status, parts.join(" · "));
  const said = troubleOf(now);
  trouble.hidden = !said;
  trouble.textContent = said;
}

listen(showStatus);
listen((now, before) => { if (shown && now && shown.update) shown.update(now, before); });
window.addEventListener("hashchange", show);
document.getElementById("keys-button").addEventListener("click", showKeys);
show();
await poll();
