// What the search shows first: pages that people use. Changes and benchmarks come after them.
const LATER = ["changes", "reference/benchmarks"];

var Scorer = {
  score: ([page, , , , score]) => (LATER.some((start) => page.startsWith(start)) ? score - 10 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
