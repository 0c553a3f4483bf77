// The list of conversations: open, rename, delete.

import { button, make, moveWithArrows } from "./dom.js";

export class ThreadList {
  constructor(chat) {
    this.chat = chat;
    this.list = make("ul");
    this.element = make("nav", { class: "bw-threads", "aria-label": chat.strings.threads }, this.list);
    moveWithArrows(this.list, ".bw-thread");
  }

  show(threads, current) {
    const { strings } = this.chat;
    this.list.replaceChildren(...threads.map((thread) => this.row(thread, thread.id === current)));
    if (!threads.length) this.list.append(make("li", { class: "bw-note" }, strings.noThreads));
  }

  row(thread, isCurrent) {
    const { strings } = this.chat;
    const open = make("button", { type: "button", class: "bw-thread", "aria-current": isCurrent ? "true" : null, onclick: () => this.chat.resume(thread.id) }, thread.title);
    const item = make("li", { class: isCurrent ? "bw-current" : "" }, open);
    item.append(
      button({ name: "edit", label: `${strings.rename}: ${thread.title}`, css: "bw-quiet", onclick: () => item.replaceChildren(this.renameForm(thread)) }),
      button({ name: "bin", label: `${strings.remove}: ${thread.title}`, css: "bw-quiet", onclick: () => item.replaceChildren(this.removeForm(thread)) }),
    );
    return item;
  }

  renameForm(thread) {
    const { strings } = this.chat;
    const title = make("input", { value: thread.title, maxlength: "80", "aria-label": strings.titleOf });
    const form = this.form([title], strings.save, () => title.value.trim() && this.chat.store.rename(thread.id, title.value.trim()));
    queueMicrotask(() => title.select());
    return form;
  }

  removeForm(thread) {
    const { strings } = this.chat;
    return this.form([make("p", {}, strings.removeSure)], strings.remove, () => this.chat.removeThread(thread.id));
  }

  form(parts, label, submit) {
    const done = () => this.chat.showThreads();
    const confirm = make("button", { type: "submit", class: "bw-button" }, label);
    const form = make("form", {}, ...parts, confirm, button({ text: this.chat.strings.cancel, css: "bw-quiet", onclick: done }));
    form.addEventListener("submit", async (event) => { event.preventDefault(); await submit(); done(); });
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); done(); } });
    queueMicrotask(() => (parts[0].focus ? (parts[0].matches("input") ? parts[0] : confirm).focus() : null));
    return form;
  }
}
