// Creates elements. Texts become text nodes, never markup.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Replaces the content of an element and restores the focus in it. Elements are recognised by their
// data-key, their name for screen readers, or their text.
export function refill(element, ...children) {
  const active = element.contains(document.activeElement) ? document.activeElement : null;
  const key = active && keyOf(active);
  fill(element, ...children);
  if (key) [...element.querySelectorAll("button, a, input, select")].find((one) => keyOf(one) === key)?.focus();
  return element;
}

function keyOf(element) {
  return `${element.tagName} ${element.dataset.key ?? element.getAttribute("aria-label") ?? element.textContent}`;
}

// A bar for a share, without a style attribute, which the page's policy forbids.
export function bar(share, title) {
  const width = Math.round(100 * Math.max(0, Math.min(1, share)));
  return draw("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": title },
    draw("rect", { class: "track", width: 100, height: 6 }), draw("rect", { class: "fill", width, height: 6 }));
}

export function percent(share) {
  if (share === null || share === undefined) return "";
  if (share > 0.99 && share < 1) return "> 99 %";
  return share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`;
}

export const reach = ({ low, high }) => `${percent(low)} to ${percent(high)}`;

export const plural = (n, noun, many = `${noun}s`) => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;

// A text of the user, which may run from right to left.
export const own = (text, attributes = {}) => make("bdi", { dir: "auto", ...attributes }, text);

let hiding = 0;

export function toast(text, isError = false) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.className = isError ? "toast error" : "toast";
  place.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { place.hidden = true; }, isError ? 8000 : 2500);
}
