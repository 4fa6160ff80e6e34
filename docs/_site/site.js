// Pages opened as files may not fetch others, so the search lists titles without excerpts there.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

document.addEventListener("DOMContentLoaded", () => {
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
