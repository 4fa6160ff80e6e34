// Pages opened as files may not fetch others, so the search lists titles without excerpts there.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

const LONG_TABLE = 25; // rows; shorter ones are taken in at a glance

function addFilter(table) {
  const rows = [...table.querySelectorAll("tbody tr")];
  if (rows.length < LONG_TABLE) return;
  const box = document.createElement("input");
  box.type = "search";
  box.className = "filter";
  box.placeholder = `Filter ${rows.length} rows`;
  box.setAttribute("aria-label", "Filter the table");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  (table.closest(".table-wrapper") || table).before(box);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) addFilter(table);
  for (const code of document.querySelectorAll("div.highlight")) {
    const text = code.querySelector("pre").textContent;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () =>
      navigator.clipboard.writeText(text).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Not copied"; }));
    code.append(button);
  }
});
