// Requests to the server, and the state that all screens share.

import { plural, toast } from "./dom.js";

// The address that was opened ends in the token. It moves to a place that only this page can read.
function tokenOf(hash) {
  if (/^#[\w-]{40,}$/.test(hash)) {
    sessionStorage.setItem("token", hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token") ?? "";
}

function newName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16).padStart(2, "0")).join("");
}

// A duplicated tab has a copy of the name; the lock tells who had it first.
async function tabName() {
  const name = sessionStorage.getItem("tab") || newName();
  const free = !navigator.locks || await new Promise((answer) => {
    navigator.locks.request(`tab ${name}`, { ifAvailable: true }, (lock) => {
      answer(lock !== null);
      return lock && new Promise(() => {}); // held until the tab is closed
    });
  });
  const own = free ? name : newName();
  sessionStorage.setItem("tab", own);
  return own;
}

const token = tokenOf(location.hash);
export const tab = await tabName();
export let state = null;
const listeners = new Set();

export function listen(listener) {
  listeners.add(listener);
}

// Answers may overtake each other. The number of decisions only grows, so it shows which is older.
export function setState(next) {
  if (state && next && next.decisions < state.decisions && next.model === state.model) return;
  const before = state;
  state = next;
  for (const listener of listeners) listener(next, before);
}

async function checked(response) {
  if (response.ok) return response;
  const text = await response.text();
  let message = text || `The server answered ${response.status}.`;
  try {
    message = JSON.parse(text).error;
  } catch { /* the guard answers in plain text */ }
  throw Object.assign(new Error(message), { status: response.status });
}

export async function read(name, query = {}) {
  const text = new URLSearchParams(query).toString();
  const asked = fetch(`/api/${name}${text ? `?${text}` : ""}`, { credentials: "same-origin", headers: { "x-cofactor": token } });
  return (await checked(await asked)).json();
}

export async function change(name, content = {}) {
  const asked = fetch(`/api/${name}`, {
    method: "POST", credentials: "same-origin",
    headers: { "content-type": "application/json", "x-cofactor": token },
    body: JSON.stringify(content),
  });
  return (await checked(await asked)).json();
}

// A link could not send the token.
export async function download(name) {
  const response = await checked(await fetch(`/api/${name}`, { credentials: "same-origin", headers: { "x-cofactor": token } }));
  const link = document.createElement("a");
  link.download = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? name;
  link.href = URL.createObjectURL(await response.blob());
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
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

// Takes back a decision, by default the last one of this tab.
export async function undo(number = -1) {
  const done = await change("undo", { tab, number });
  setState(done);
  const what = done.documents > 1 ? `${done.undone} of ${plural(done.documents, "text")}` : done.undone;
  toast(done.undone ? `Undone: ${what}.` : "You decided nothing in this tab; the list of last decisions has those of others.");
  return done;
}

export async function poll() {
  try {
    setState(await read("state"));
  } catch (error) {
    const said = error.status ? error.message : "The server does not respond. Your decisions so far are saved.";
    for (const listener of listeners) listener(state, state, said);
  }
  setTimeout(poll, state && state.busy ? 400 : 1500);
}
