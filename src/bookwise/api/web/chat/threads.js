// The list of conversations: open, rename, delete.

import { button, make, moveWithArrows } from "./dom.js";

export class ThreadList {
  form = null; // of the conversation that the reader is renaming or deleting

  constructor(chat) {
    this.chat = chat;
    this.list = make("ul");
    this.element = make("nav", { class: "bw-threads", "aria-label": chat.strings.threads }, this.list);
    moveWithArrows(this.list, ".bw-thread");
  }

  /** Shows the conversations. An open form stays: an answer that arrives meanwhile must not close it. */
  show(threads, current) {
    if (this.form) return;
    const { strings } = this.chat;
    this.list.replaceChildren(...threads.map((thread) => this.row(thread, thread.id === current)));
    if (!threads.length) this.list.append(make("li", { class: "bw-note" }, strings.noThreads));
  }

  row(thread, isCurrent) {
    const { strings } = this.chat;
    const open = make("button", { type: "button", class: "bw-thread", title: thread.title, "aria-current": isCurrent ? "true" : null, onclick: () => this.chat.resume(thread.id) }, thread.title);
    return make("li", { class: isCurrent ? "bw-current" : "", "data-thread": thread.id }, open,
      button({ name: "edit", label: `${strings.rename}: ${thread.title}`, css: "bw-quiet", onclick: () => this.rename(thread) }),
      button({ name: "bin", label: `${strings.remove}: ${thread.title}`, css: "bw-quiet", onclick: () => this.remove(thread) }));
  }

  item(thread) {
    return [...this.list.children].find((one) => one.dataset.thread === thread.id);
  }

  rename(thread) {
    const { strings } = this.chat;
    const title = make("input", { value: thread.title, maxlength: "80", "aria-label": strings.titleOf });
    this.edit(thread, title, strings.save, () => title.value.trim() && this.chat.store.rename(thread.id, title.value.trim()));
    title.select();
  }

  remove(thread) {
    const { strings } = this.chat;
    this.edit(thread, make("p", {}, strings.removeSure), strings.remove, () => this.chat.removeThread(thread.id));
  }

  /** Shows a form in place of the conversation, with the focus in it. */
  edit(thread, part, label, submit) {
    const confirm = make("button", { type: "submit", class: "bw-button" }, label);
    const form = make("form", {}, part, confirm, button({ text: this.chat.strings.cancel, css: "bw-quiet", onclick: () => this.close(thread, form) }));
    form.addEventListener("submit", async (event) => { event.preventDefault(); await submit(); this.close(thread, form); });
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); this.close(thread, form); } });
    this.form = null;
    this.chat.showThreads();
    this.form = form;
    this.item(thread).replaceChildren(form);
    (part.matches("input") ? part : confirm).focus();
  }

  /** The focus goes back to the conversation, or to the box if it was deleted. */
  close(thread, form) {
    if (form !== this.form) return this.chat.showThreads();
    this.form = null;
    this.chat.showThreads();
    const item = this.item(thread);
    if (item) item.querySelector("button").focus();
    else this.chat.focusBox();
  }
}
