// Builds elements. Text from books and readers only ever becomes a text node.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

const present = (children) => children.flat().filter((child) => child !== null && child !== undefined && child !== false);

/** Replaces the content of an element; leaves out what is null or false. */
export const replace = (element, ...children) => element.replaceChildren(...present(children));

/** Shows a new version of a table every second without a jump: focus and scroll position stay. */
export function update(box, next) {
  const before = box.firstElementChild;
  if (before?.isEqualNode(next)) return;
  const { activeElement: active } = document;
  const label = box.contains(active) && active.getAttribute("aria-label");
  box.replaceChildren(next);
  if (before) [next.scrollLeft, next.scrollTop] = [before.scrollLeft, before.scrollTop];
  if (label) [...box.querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === label)?.focus({ preventScroll: true });
}

/** Text in which `this` is code. */
export const prose = (text) => text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));

export const button = (label, onclick, attributes = {}) => h("button", { type: "button", onclick, ...attributes }, label);

/** A table that scrolls in its own box. `columns`: {title, number, short}; `rows`: lists of cells (text or nodes).
    With `cards`, each row is a card on a phone; the roles keep it a table for screen readers. */
export function table(caption, columns, rows, { empty = "Nothing here yet.", cards = false } = {}) {
  if (!rows.length) return h("p", { class: "soft" }, prose(empty));
  const head = columns.map(({ title, number }) => h("th", { scope: "col", role: "columnheader", class: number && "number" }, title));
  const cell = (content, { title, number, short }) =>
    h("td", { role: "cell", class: (number && "number") || (short && "short"), "data-title": cards && title }, h("div", {}, ...[content].flat()));
  const body = rows.map((cells) => h("tr", { role: "row" }, cells.map((content, at) => cell(content, columns[at]))));
  const rowgroup = { role: "rowgroup" };
  return h("div", { class: cards ? "scroll cards" : "scroll", role: "region", tabindex: "0", "aria-label": caption },
    h("table", { role: "table" }, h("caption", { class: "unseen" }, caption), h("thead", rowgroup, h("tr", { role: "row" }, head)), h("tbody", rowgroup, body)));
}

/** A link to a page of the book; plain text where the address is not a web address. */
export function pageLink(text, url) {
  const isWeb = /^https?:\/\//i.test(url);
  return isWeb ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text) : h("span", { title: url }, text);
}

export const section = (title, ...children) => h("section", {}, h("h3", {}, title), ...children);
export const note = (text, kind = "") => h("p", { class: `note ${kind}` }, prose(text));

export function problem(error) {
  return h("div", { class: "note bad", role: "alert" }, h("p", {}, prose(error.message)), error.advice && h("p", {}, prose(error.advice)));
}

export const percent = (share) => `${Math.round(share * 100)} %`;
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
export const day = (time) => new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
export const moment = (time) =>
  time ? new Date(time).toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }) : "–";

const ANNOUNCED_MS = 8_000;
let announced;

/** Says what happened, for a while: at the bottom of the window, and to screen readers. */
export function announce(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(announced);
  announced = setTimeout(() => { status.textContent = ""; }, ANNOUNCED_MS);
}

export function copyButton(text, label = "Copy") {
  const copy = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Select the text and copy it";
    }
    announce(copy.textContent);
  });
  return copy;
}

/** Asks before something that cannot be undone; resolves to the decision. */
export function confirmed(title, text, action) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
      h("form", { method: "dialog" },
        h("h2", { id: "dialog-title" }, title), h("p", {}, text),
        h("p", { class: "actions" },
          h("button", { value: "" }, "Cancel"),
          h("button", { value: "yes", class: "danger" }, action))));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
