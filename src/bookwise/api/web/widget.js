// The chat on a book's site. One script tag, one global name (Bookwise), nothing from other origins:
//
//   <script src="https://ask.example/widget.js" data-key="bw_…" data-book="my-book" defer></script>
//
// This file shows the button. The panel with the chat (widget/panel.js) and the button at selected text
// (widget/selection.js) are loaded when a reader is about to use them.
(() => {
  "use strict";
  // A second script tag, or a framework that runs effects twice
  if (window.Bookwise) return;

  const NAME = "bookwise-chat";
  const PHONE = matchMedia("(max-width: 600px)");
  const OS_DARK = matchMedia("(prefers-color-scheme: dark)");

  const script = document.currentScript;
  const home = new URL(".", script.src);
  const options = { mode: "panel", position: "bottom-right", history: "session", ...script.dataset };
  const memory = `bookwise:${home.href}:${options.book || ""}:open`;
  const isInline = options.mode === "inline";

  const TEXTS = {
    en: { open: "Ask the book", select: "Ask about this", close: "Close", failed: "The chat could not be loaded. Try again" },
    de: { open: "Das Buch fragen", select: "Dazu fragen", close: "Schließen", failed: "Der Chat konnte nicht geladen werden. Erneut versuchen" },
    es: { open: "Preguntar al libro", select: "Preguntar sobre esto", close: "Cerrar", failed: "No se pudo cargar el chat. Reintentar" },
    fr: { open: "Interroger le livre", select: "Poser une question", close: "Fermer", failed: "Le chat n’a pas pu être chargé. Réessayer" },
  };
  const wanted = (options.lang || document.documentElement.lang).slice(0, 2).toLowerCase();
  const lang = wanted in TEXTS ? wanted : "en";
  const texts = TEXTS[lang];
  const label = options.label ?? texts.open;

  // Rules of the page match the host, never what is inside. `!important` in a shadow tree wins over `!important` of the page,
  // so the host passes on nothing but the --bw- properties.
  // The text is white on a dark accent, black on a light one: 0.179 is the luminance with the same contrast to both.
  const STYLE = `
    :host { all: initial !important; display: contents !important; }
    :host([data-mode="inline"]) { display: block !important; height: var(--bw-height, 600px) !important; }
    :host::before, :host::after { content: none !important; }
    .root { display: contents; direction: ltr; color-scheme: light;
      --accent: var(--bw-accent, #1f4fbf); --bg: var(--bw-bg, #fff); --text: var(--bw-text, #1b2130); --border: var(--bw-border, #dde2ea);
      --on-accent: #fff; --font: var(--bw-font, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
      font: 16px/1.5 var(--font); color: var(--text); }
    .root[data-theme="dark"] { color-scheme: dark;
      --accent: var(--bw-accent, #9dbcff); --bg: var(--bw-bg, #14181f); --text: var(--bw-text, #e6e9ef); --border: var(--bw-border, #343d4b);
      --on-accent: #10182a; }
    @supports (color: color(from red srgb-linear r g b)) {
      .root, .root[data-theme] { --light: clamp(0, (.179 - (.2126 * r + .7152 * g + .0722 * b)) * 999, 1);
        --on-accent: color(from var(--accent) srgb-linear var(--light) var(--light) var(--light)); } }
    * { box-sizing: border-box; }
    button { font: inherit; cursor: pointer; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    svg { width: 1.4em; height: 1.4em; flex: none; }
    .opener, .select { position: fixed; z-index: var(--bw-z, 2147483000); display: flex; gap: 8px; align-items: center; border: 1px solid transparent;
      background: var(--accent); color: var(--on-accent); box-shadow: 0 2px 12px #0003; border-radius: 24px; font-size: 15px; }
    .opener { bottom: var(--bw-offset, 20px); right: var(--bw-offset, 20px); min-width: 48px; min-height: 48px; justify-content: center;
      padding: 0 18px 0 14px; font-weight: 600; }
    .opener.icon { padding: 0; }
    @media (max-width: 479px) { .short { padding: 0; } .short span { position: absolute; clip-path: inset(50%); } }
    .left .opener { right: auto; left: var(--bw-offset, 20px); }
    .opener:hover, .select:hover { filter: brightness(1.08); }
    .opener[aria-busy="true"] { cursor: progress; opacity: .75; }
    @media print { .root { display: none; } }
    [hidden] { display: none !important; }
  `;

  function addStyle(shadow, css) {
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
      shadow.adoptedStyleSheets = [...shadow.adoptedStyleSheets, sheet];
    } catch { // Safari before 16.4
      shadow.append(Object.assign(document.createElement("style"), { nonce: options.nonce || "", textContent: css }));
    }
  }

  // ---- Elements ----

  /** Creates an element; strings among the children become text nodes. */
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  function icon(d) {
    const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    const drawing = { d, fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round" };
    for (const [key, value] of Object.entries(drawing)) path.setAttribute(key, value);
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    svg.append(path);
    return svg;
  }

  const bookIcon = () => icon("M12 6.5C10 5 7 4.5 3.5 4.5v13c3.5 0 6.5.5 8.5 2 2-1.5 5-2 8.5-2v-13C17 4.5 14 5 12 6.5zm0 0v13");
  const host = document.querySelector(NAME) || document.createElement(NAME);
  const words = make("span", {}, label);
  // Short: only the icon on a phone, where words would cover the text
  const look = label ? "opener short" : "opener icon";
  const opener = make("button", {
    class: look, type: "button", part: "button", "aria-haspopup": "dialog", "aria-expanded": "false",
    "aria-label": label ? null : texts.open, onclick: () => open({ from: opener }), onpointerenter: prepare, onfocus: prepare,
  }, bookIcon(), words);
  const root = make("div", { class: options.position.endsWith("left") ? "root left" : "root", lang }, opener);

  function build() {
    if (!customElements.get(NAME)) customElements.define(NAME, class extends HTMLElement {});
    addStyle(host.shadowRoot || host.attachShadow({ mode: "open" }), STYLE);
    host.shadowRoot.append(root);
    opener.hidden = isInline || options.position === "none";
    host.dataset.mode = options.mode;
    if (!host.isConnected) insert();
    for (const type of ["keydown", "keyup", "keypress"]) listen(host, type, (event) => event.stopPropagation());
  }

  /** Inline, the chat follows the script tag. Else it is a child of <html>: no transform or flex layout of the body reaches it
      there, and it stays when a framework replaces the body. */
  function insert() {
    if (isInline && document.body.contains(script)) script.after(host);
    else document.documentElement.append(host);
  }

  // ---- Theme: the attribute, then the page, then the system ----

  const THEMES = { light: "light", rust: "light", dark: "dark", coal: "dark", navy: "dark", ayu: "dark", slate: "dark" };

  /** The theme of Material for MkDocs, Docusaurus, Bootstrap, GitHub, mdBook, or of any page that declares its color-scheme. */
  function pageTheme() {
    const { documentElement: html, body } = document;
    const { mdColorScheme: material } = body.dataset;
    if (material) return THEMES[material] || "light";
    const { theme, bsTheme, colorMode } = html.dataset;
    const name = [theme, bsTheme, colorMode, ...html.classList, ...body.classList].find((name) => Object.hasOwn(THEMES, name));
    if (name) return THEMES[name];
    const schemes = getComputedStyle(html).colorScheme.split(" ").filter((scheme) => scheme === "light" || scheme === "dark");
    return schemes.length === 1 ? schemes[0] : null;
  }

  function applyTheme() {
    const theme = THEMES[options.theme] || pageTheme() || (OS_DARK.matches ? "dark" : "light");
    for (const element of themed) element.dataset.theme = theme;
    // Readable on a dark page
    const lighter = options.color && `color-mix(in oklab, ${options.color}, white 50%)`;
    const accent = theme === "dark" ? options.colorDark || lighter : options.color;
    if (accent) root.style.setProperty("--bw-accent", accent);
    if (options.radius) root.style.setProperty("--bw-radius", /^\d+$/.test(options.radius) ? `${options.radius}px` : options.radius);
  }

  // And the chat, once there is one
  const themed = [root];
  const themeChanges = new MutationObserver(applyTheme);

  /** Shows the theme on one more element, from now on. */
  function showTheme(element) {
    themed.push(element);
    applyTheme();
  }

  function followTheme() {
    applyTheme();
    listen(OS_DARK, "change", applyTheme);
    for (const element of [document.documentElement, document.body]) themeChanges.observe(element, { attributes: true });
  }

  // ---- The panel, loaded on first intent ----

  let panel = null, loading = null;
  const kit = { addStyle, bookIcon, emit, home, host, icon, isInline, lang, listen, make, open, options, PHONE, root, showTheme, texts };

  function load() {
    loading ||= import(new URL("widget/panel.js", home)).then(({ createPanel }) => createPanel(kit, { opened, closed }));
    return loading;
  }

  function prepare() {
    // A click tries again and reports it
    load().then((created) => { panel = created; }, () => { loading = null; });
  }

  async function open({ question = "", submit = false, from = null, focus = true } = {}) {
    opener.setAttribute("aria-busy", "true");
    try {
      panel = await load();
      panel.open({ question, submit, focus, from: from || document.activeElement });
    } catch (error) {
      loading = null;
      opener.hidden = false;
      words.textContent = texts.failed;
      opener.className = "opener";
      emit("error", { message: String(error.message) });
    } finally {
      opener.removeAttribute("aria-busy");
    }
  }

  function opened() {
    opener.hidden = true;
    // A failed attempt may have replaced it
    words.textContent = label;
    opener.className = look;
    opener.setAttribute("aria-expanded", "true");
    remember("1");
    emit("open");
  }

  function closed(returnTo) {
    opener.hidden = options.position === "none";
    opener.setAttribute("aria-expanded", "false");
    remember("");
    (returnTo?.isConnected && returnTo !== document.body ? returnTo : opener).focus();
    emit("close");
  }

  // Storage can be forbidden, for example in a sandboxed frame: then the panel starts closed.
  function remember(value) {
    try { if (options.history !== "off") sessionStorage.setItem(memory, value); } catch { /* see above */ }
  }

  function wasOpen() {
    try { return sessionStorage.getItem(memory) === "1"; } catch { return false; }
  }

  /** Shows the panel again after a page load, without taking the focus. A panel that covers the page stays closed. */
  function restore() {
    if (isInline || (wasOpen() && options.mode === "panel" && !PHONE.matches)) open({ focus: false });
  }

  // ---- Triggers and keys ----

  function onTrigger(event) {
    const trigger = event.target.closest?.("[data-bookwise-open]");
    if (!trigger) return;
    event.preventDefault();
    open({ question: trigger.dataset.bookwiseOpen, submit: "bookwiseSubmit" in trigger.dataset, from: trigger });
  }

  const hotkey = options.hotkey?.toLowerCase().split("+") || [];

  function onHotkey(event) {
    const has = (name) => hotkey.includes(name);
    const isControl = has("mod") ? event.ctrlKey || event.metaKey : event.ctrlKey === has("ctrl") && event.metaKey === has("meta");
    if (event.key?.toLowerCase() !== hotkey.at(-1) || !isControl || event.altKey !== has("alt") || event.shiftKey !== has("shift")) return;
    event.preventDefault();
    if (panel?.isOpen()) panel.close();
    else open();
  }

  function onFirstSelection() {
    // The button still works
    import(new URL("widget/selection.js", home)).then(({ followSelection }) => followSelection(kit), () => {});
  }

  // ---- Start, end, and the global name ----

  const ending = new AbortController();

  function listen(target, type, listener, settings = {}) {
    target.addEventListener(type, listener, { ...settings, signal: ending.signal });
  }

  function emit(name, detail = {}) {
    host.dispatchEvent(new CustomEvent(`bookwise:${name}`, { detail, bubbles: true }));
  }

  function start() {
    build();
    followTheme();
    listen(document, "click", onTrigger);
    // A single key would block typing
    if (hotkey.length > 1) for (const target of [document, root]) listen(target, "keydown", onHotkey);
    if (options.selection !== "off") listen(document, "selectstart", onFirstSelection, { once: true });
    emit("ready");
    restore();
  }

  window.Bookwise = Object.freeze({
    open: ({ question, submit } = {}) => open({ question, submit }),
    close: () => panel?.close(),
    clear: () => panel?.chat.clear(),
    destroy() {
      ending.abort();
      themeChanges.disconnect();
      panel?.chat.destroy();
      root.remove();
      host.remove();
      delete window.Bookwise;
    },
    /** Calls the listener with the details of each event; returns a function that ends this. */
    on(name, listener) {
      const relay = (event) => listener(event.detail);
      host.addEventListener(`bookwise:${name}`, relay);
      return () => host.removeEventListener(`bookwise:${name}`, relay);
    },
  });

  if (document.body) start();
  else addEventListener("DOMContentLoaded", start, { signal: ending.signal });
})();
