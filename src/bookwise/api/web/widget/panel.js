// The panel of the widget: a dialog around the chat. Loaded by widget.js when a reader is about to use it.
import { createChat } from "../chat/chat.js";

const CHAT_EVENTS = ["ask", "answer", "source", "feedback", "error"];

const STYLE = `
  .panel { position: fixed; z-index: var(--bw-z, 2147483000); inset: auto var(--bw-offset, 20px) var(--bw-offset, 20px) auto;
    margin: 0; padding: 0; display: flex; flex-direction: column; overflow: hidden; overscroll-behavior: contain;
    width: min(var(--bw-width, 440px), 100vw - 40px); height: min(var(--bw-height, 660px), 100dvh - 40px); max-width: none; max-height: none;
    background: var(--bg); color: var(--text); border: 1px solid var(--border); border-radius: var(--bw-radius, 14px); box-shadow: 0 12px 40px #0004; }
  .left .panel { right: auto; left: var(--bw-offset, 20px); }
  .panel.modal { inset: 0; margin: auto; width: min(var(--bw-width, 720px), 100vw - 40px); height: min(var(--bw-height, 760px), 100dvh - 40px); }
  .panel.inline { position: relative; inset: auto; width: 100%; height: 100%; box-shadow: none; }
  .panel:not([open], .inline) { display: none; }
  .panel::backdrop { background: #0006; }
  .panel:focus { outline: none; }
  .panel > .bw { flex: 1; height: auto; --bw-accent: var(--accent); --bw-on-accent: var(--on-accent); --bw-bg: var(--bg); --bw-text: var(--text);
    --bw-border: var(--border); --bw-font: var(--font); }
  .panel:not(.inline) .bw-head { padding-right: 56px; }
  .panel .bw-empty h2 { display: none; }
  .close { position: absolute; z-index: 2; top: 10px; right: 10px; width: 36px; height: 36px; padding: 0; display: grid; place-items: center;
    border: 0; border-radius: 8px; background: none; color: inherit; }
  .close:hover { background: color-mix(in srgb, currentColor 10%, transparent); }
  @media (max-width: 600px) {
    .panel:not(.inline) { inset: 0; width: 100%; height: 100dvh; border: 0; border-radius: 0; }
  }
  @media (prefers-reduced-motion: no-preference) {
    .panel[open] { animation: rise .16s ease-out; }
    .panel.restored { animation: none; }
    @keyframes rise { from { opacity: 0; transform: translateY(12px); } }
  }
`;

/** Creates the closed panel. `opened` and `closed` are called after each change; `closed` with the element to focus. */
export async function createPanel(kit, { opened, closed }) {
  const { addStyle, host, icon, isInline, make, options, PHONE, root, texts } = kit;
  const chat = createChat(await chatOptions(kit));
  const label = options.title || texts.open;
  const element = make(isInline ? "section" : "dialog", { class: `panel ${options.mode}`, part: "panel", "aria-label": label, tabindex: "-1" }, chat.element);
  if (!isInline) element.append(make("button", { class: "close", type: "button", "aria-label": texts.close, onclick: close }, icon("M6 6l12 12M18 6L6 18")));
  let returnTo = null;

  addStyle(host.shadowRoot, STYLE);
  root.append(element);
  kit.showTheme(chat.element);
  for (const name of CHAT_EVENTS) chat.on(name, (detail) => kit.emit(name, detail));
  element.addEventListener("close", () => closed(returnTo));
  element.addEventListener("click", onClick);
  element.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.defaultPrevented) close(); });

  function open({ question, submit, focus, from }) {
    if (!isInline && !element.open) show(focus, from);
    if (question && submit) chat.ask(question);
    else if (question) chat.setDraft(question);
    // On a phone, the keyboard would cover the starter questions
    if (focus && (!PHONE.matches || question)) chat.focus();
  }

  function show(focus, from) {
    returnTo = from;
    element.classList.toggle("restored", !focus);
    // `show` would move the focus
    if (!focus) element.open = true;
    else if (options.mode === "modal" || PHONE.matches) element.showModal();
    else element.show();
    opened();
  }

  function close() {
    if (element.open) element.close();
  }

  function onClick(event) {
    // The backdrop
    if (event.target === element) close();
    const link = event.target.closest("a[href]");
    if (link && leadsToBook(link)) stayInTab(link);
  }

  /** Whether a link opens a page of this site. The lesson pages of the service open a tab of their own. */
  function leadsToBook(link) {
    return link.origin === location.origin && !link.href.startsWith(new URL("read/", kit.home));
  }

  /** Opens a page of the book in this tab, where the panel comes back. During an answer a new tab keeps the answer. */
  function stayInTab(link) {
    if (element.querySelector("[aria-busy='true']")) return;
    link.target = "_self";
    if (PHONE.matches) close();
  }

  return { open, close, isOpen: () => element.open, chat };
}

async function chatOptions({ home, host, lang, options }) {
  return {
    root: host.shadowRoot,
    home: home.href,
    key: options.key,
    book: options.book,
    compact: true,
    storage: options.history,
    strings: lang === "en" ? undefined : (await import(`./${lang}.js`)).default,
    request: () => ({ page_url: location.origin + location.pathname }),
    title: options.title,
    questions: options.questions?.split("|").map((text) => text.trim()).filter(Boolean),
    disclaimer: options.disclaimer,
  };
}
