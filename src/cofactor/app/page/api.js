// Requests to the server, and the state that all screens share.

import { toast } from "./dom.js";

function tabName() {
  let name = sessionStorage.getItem("tab");
  if (!name) {
    name = Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16).padStart(2, "0")).join("");
    sessionStorage.setItem("tab", name);
  }
  return name;
}

export const tab = tabName();
export let state = null;
const listeners = new Set();

export function listen(listener) {
  listeners.add(listener);
}

// Answers may overtake each other. The number of decisions only grows, so it shows which is older.
export function setState(next) {
  if (state && next && next.decisions < state.decisions) return;
  const before = state;
  state = next;
  for (const listener of listeners) listener(next, before);
}

async function answered(response) {
  const body = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw new Error(body.error || `The server answered ${response.status}.`);
  return body;
}

export async function read(name, query = {}) {
  const text = new URLSearchParams(query).toString();
  return answered(await fetch(`/api/${name}${text ? `?${text}` : ""}`, { credentials: "same-origin" }));
}

export async function change(name, content = {}) {
  return answered(await fetch(`/api/${name}`, {
    method: "POST", credentials: "same-origin",
    headers: { "content-type": "application/json", "x-cofactor": "1" },
    body: JSON.stringify(content),
  }));
}

// Runs something that may fail, and shows the user why.
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message, true);
    return null;
  }
}

export async function poll() {
  try {
    setState(await read("state"));
  } catch (error) {
    setState(state ? { ...state, lost: error.message } : null);
  }
  setTimeout(poll, state && state.busy ? 400 : 1500);
}
