// Small helpers for DOM nodes. Strings become text nodes, never HTML.

/** Creates an element. Attributes that start with "on" are listeners; null, undefined and false are left out. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const PATHS = {
  menu: "M4 6h16M4 12h16M4 18h16",
  add: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  send: "M5 12h14M13 6l6 6-6 6",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 13l4 4L19 7",
  share: "M12 15V4M8 8l4-4 4 4M5 13v6h14v-6",
  retry: "M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6",
  up: "M7 11v9H4v-9zM7 11l4-7a2 2 0 0 1 2 2v4h6l-1.5 10H7",
  down: "M7 13V4H4v9zM7 13l4 7a2 2 0 0 0 2-2v-4h6L17.500 4H7",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  bin: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  open: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  book: "M5 4h13v16H7a2 2 0 0 1-2-2zM5 18a2 2 0 0 1 2-2h11",
};
const SVG = "http://www.w3.org/2000/svg";

/** A line icon. It is decoration: the button that holds it has a label. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: "bw-icon", "aria-hidden": "true" })) svg.setAttribute(key, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** A button with an icon. With `text`, the text is shown; else it is the label for screen readers and the tooltip. */
export function button({ name, label, text, css = "", onclick, ...more }) {
  const attributes = { type: "button", class: `bw-button ${css}`, "aria-label": text ? null : label, title: text ? null : label, onclick, ...more };
  return make("button", attributes, name && icon(name), text);
}

/** Arrow keys move the focus between the elements of a list. */
export function moveWithArrows(list, selector) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step || event.target.matches("input, textarea, select")) return;
    const items = [...list.querySelectorAll(selector)];
    const next = items[items.indexOf(event.target.closest(selector)) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}

/** Copies a text; works without the clipboard API too. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "bw-hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
