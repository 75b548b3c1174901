// The rules for labelling. The server sends blocks, not markup; they become elements here.

import { attempt, read } from "./api.js";
import { fill, make } from "./dom.js";

let blocks = null; // loaded once

function part({ kind, text, address }) {
  if (kind === "link") return make("a", { href: address, target: "_blank", rel: "noreferrer" }, text);
  return kind === "text" ? text : make(kind, {}, text);
}

function block({ kind, level, lines }) {
  if (kind === "heading") return make(level < 3 ? "h4" : "h5", { dir: "auto" }, lines[0].map(part));
  if (kind === "code") return make("pre", { tabindex: "0" }, lines[0].map(part));
  if (kind === "quote") return make("blockquote", { dir: "auto" }, lines[0].map(part));
  if (kind === "text") return make("p", { dir: "auto" }, lines[0].map(part));
  return make(kind === "bullet" ? "ul" : "ol", { dir: "auto" }, lines.map((line) => make("li", {}, line.map(part))));
}

export async function showGuidelines(place) {
  blocks ??= (await attempt(() => read("guidelines")))?.blocks ?? null;
  place.hidden = !blocks?.length;
  fill(place, make("h3", {}, "Guidelines"), (blocks ?? []).map(block));
}
