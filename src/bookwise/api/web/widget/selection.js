// "Ask about this": a small button at the text that a reader has selected on the page. Loaded with the first selection.
const LENGTH_MIN = 3, LENGTH_MAX = 400; // characters
const SETTLED_MS = 250; // after the last change of the selection
const EDITABLE = "input, textarea, select, [contenteditable]:not([contenteditable='false'])";

const STYLE = ".select { padding: 5px 14px 5px 10px; font-size: 14px; white-space: nowrap; }";

export function followSelection({ addStyle, bookIcon, host, listen, make, open, root, texts }) {
  let timer = 0, text = "", isOwn = false;
  const button = make("button", {
    class: "select", type: "button", part: "select", hidden: "", onclick: ask,
    onmousedown: (event) => event.preventDefault(), // it would end the selection
  }, bookIcon(), texts.select);
  addStyle(host.shadowRoot, STYLE);
  root.append(button);
  listen(document, "pointerdown", (event) => { isOwn = event.composedPath().includes(host); });
  listen(document, "selectionchange", wait);
  listen(document, "scroll", wait, { capture: true, passive: true });
  wait();

  function wait() {
    button.hidden = true;
    clearTimeout(timer);
    timer = setTimeout(offer, SETTLED_MS);
  }

  function offer() {
    const selection = getSelection();
    text = selection.toString().replace(/\s+/g, " ").trim();
    if (isOwn || selection.isCollapsed || text.length < LENGTH_MIN || text.length > LENGTH_MAX || isEditable(selection.anchorNode)) return;
    const box = [...selection.getRangeAt(0).getClientRects()].at(-1);
    if (!box || box.bottom < 0 || box.bottom > innerHeight) return;
    button.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = button;
    button.style.left = `${Math.max(8, Math.min(box.right - width / 2, innerWidth - width - 8))}px`;
    button.style.top = `${Math.min(box.bottom + 8, innerHeight - height - 8)}px`;
  }

  function ask() {
    button.hidden = true;
    // Only the quote: the question is in the language of the book
    open({ question: `“${text}” ` });
  }
}

function isEditable(node) {
  const element = node?.nodeType === Node.ELEMENT_NODE ? node : node?.parentElement;
  return Boolean(element?.closest(EDITABLE));
}
