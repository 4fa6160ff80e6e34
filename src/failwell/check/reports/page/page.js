"use strict";
(() => {
  const said = document.getElementById("said");
  const say = (words) => { said.textContent = ""; said.textContent = words; };

  const copyOldWay = (text) => {
    const field = document.createElement("textarea");
    field.value = text;
    field.readOnly = true;
    field.className = "unseen";
    document.body.append(field);
    field.select();
    let done = false;
    try { done = document.execCommand("copy"); } catch { done = false; }
    field.remove();
    return done;
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyOldWay(text);
    }
  };

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    const label = button.firstChild;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      const done = await copy(source.textContent);
      button.focus();
      if (!done) select(source);
      label.textContent = done ? "Copied" : "Selected";
      say(done ? "Copied." : "Selected: copy it with your keyboard.");
      setTimeout(() => { label.textContent = "Copy"; }, 2000);
    });
  }

  for (const button of document.querySelectorAll("button[data-fold]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = button.dataset.fold === "open";
      for (const call of document.querySelectorAll("details.call")) call.open = open;
      say(open ? "All calls are open." : "All calls are closed.");
    });
  }
})();
