// Pages for users come before notes for developers; the other numbers are those of Sphinx.
const PLACES = [["guide/", 6], ["five_minutes", 4], ["faq", 4], ["defend", 4], ["reference/", 2], ["decisions/", -20], ["changelog", -20]];

var Scorer = {
  score: ([docname, , , , score]) =>
    score + PLACES.reduce((sum, [start, more]) => sum + (docname.startsWith(start) ? more : 0), 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
