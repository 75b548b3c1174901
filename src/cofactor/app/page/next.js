// What to do next: one sentence for each screen.

import { percent, plural } from "./dom.js";

const FIRST_LABELS = 10;

function label(now) {
  const { counts } = now;
  const names = Object.keys(counts.classes);
  const labelled = counts.reviewed + counts.table;
  if (!names.length) return "Read the text and name the first class: type what the text is about, and press Enter. That labels the text.";
  if (names.length === 1) return `Label the next texts. Press 1 for ${names[0]}, or type the name of another class when a text needs one.`;
  if (now.exhausted) return "Every text has a decision. Look at the differences under Documents, or take the labels with you under Save.";
  const begin = now.predicts ? "Suggestions" : "Suggestions come once two classes have labels, and";
  if (labelled < FIRST_LABELS) return `Label ${plural(FIRST_LABELS - labelled, "more text")}. ${begin} get better with every few labels.`;
  if (now.moved?.stop) return `You can stop: the last ${now.moved.labels} labels changed ${percent(now.moved.share)} of the predictions. Check Progress, then go to Save.`;
  if (now.accuracy) return "Go on while the predictions still change. Progress says how good they are and when to stop.";
  return `Go on. One text in five is a random check; after 20 of them you see how often the model is right (${now.checks} so far).`;
}

function classes(now) {
  const names = Object.keys(now.counts.classes);
  if (!names.length) return "Name the classes that you want to tell apart, or go to Label and name them as you read.";
  const empty = names.filter((one) => !now.counts.classes[one]);
  return empty.length
    ? `${plural(empty.length, "class", "classes")} ${empty.length === 1 ? "has" : "have"} no label yet. Label a text of each, or delete what you do not need.`
    : "Merge classes that mean the same, split one that means two things, and describe those that people confuse.";
}

function documents(now) {
  return now.predicts
    ? "Choose “label differs from prediction” to find mistakes, or filter, select rows and label them at once."
    : "Search for typical words of a class, select the texts that fit, and label them at once.";
}

function topics() {
  return "Click a word to pin or ban it, drag a card onto another to merge them. You see what an edit moves before you accept it, and can undo all edits since the app started.";
}

function progress(now) {
  if (now.moved?.stop) return "The predictions no longer change much: you can stop labelling and save.";
  if (!now.accuracy) return "Go on under Label: the accuracy appears after 20 random checks.";
  return "Look at the classes with low recall: go to Documents, filter by such a class and label some more.";
}

function save() {
  return "Download the table with its labels. Everything is already saved on this machine.";
}

const SAYS = { label, classes, documents, topics, progress, save };

export const nextStep = (screen, now) => SAYS[screen](now);
