// Elements, made one by one. Text only ever becomes text: there is no place where it could become markup.

const SVG = "http://www.w3.org/2000/svg";

export const el = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);

export const svg = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "href" && !/^([?#]|\/(?!\/)|https:\/\/)/.test(value)) continue;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Leads to the docs of a code. They are not served here, so they open beside the page.
export const docs = (code, address) => address
  ? el("a", { href: address, class: "docs", target: "_blank", rel: "noopener noreferrer" }, "docs", unseen(` of ${code}, in a new tab`)) : null;

export const unseen = (text) => el("span", { class: "unseen" }, text);

export const code = (text) => el("code", null, text);

// Puts new content into an element. Who was on something in it with the keyboard is put back on the same thing.
export function refill(element, ...children) {
  const held = element.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  element.replaceChildren(...children.flat().filter(Boolean));
  if (held === null) return;
  const again = [...element.querySelectorAll("a, button, select, summary, [tabindex]")].find((one) => keyOf(one) === held);
  again?.focus({ preventScroll: true });
}

const keyOf = (element) => element.id || element.dataset.key || `${element.tagName} ${element.getAttribute("href")} ${element.textContent}`;

export function say(text) {
  document.getElementById("said").textContent = text;
}

export function notice(text, kind = "quiet") {
  const place = document.getElementById("notice");
  place.hidden = !text;
  place.className = `notice ${kind}`;
  place.textContent = text ?? "";
}
