// Thumbs, with a reason and a comment for the author of the book.

import { button, make } from "./dom.js";

const COMMENT_MAX = 2000;

/** The two thumbs, and the place of the form that a thumb down opens. */
export function feedback(chat, answer) {
  const { strings } = chat;
  const thumbs = {
    up: button({ name: "up", label: strings.helpful, css: "bw-quiet" }),
    down: button({ name: "down", label: strings.unhelpful, css: "bw-quiet" }),
  };
  const place = make("div", { class: "bw-feedback" });
  let sent = Promise.resolve();

  const show = (thumb) => {
    for (const [name, control] of Object.entries(thumbs)) control.setAttribute("aria-pressed", String(name === thumb));
  };

  const send = async (thumb, more) => {
    try {
      await chat.service.post("feedback", { answer_id: answer, thumb, ...more });
    } catch (error) {
      chat.showProblem(error);
      return false;
    }
    chat.store.rate(answer, thumb);
    show(thumb);
    chat.emit("feedback", { answer_id: answer, thumb, ...more });
    chat.announce(strings.thanks);
    return true;
  };

  /** One after the other: the service keeps the rating that it gets last. */
  const rate = (thumb, more = {}) => {
    sent = sent.then(() => send(thumb, more));
    return sent;
  };

  show(chat.store.rating(answer));
  thumbs.up.addEventListener("click", () => { place.replaceChildren(); rate("up"); });
  thumbs.down.addEventListener("click", () => { rate("down"); place.replaceChildren(reasonForm(strings, place, (more) => rate("down", more))); });
  return { thumbs: [thumbs.up, thumbs.down], place };
}

function reasonForm(strings, place, send) {
  const reasons = Object.entries(strings.reasons).map(([value, label]) =>
    make("label", { class: "bw-pill" }, make("input", { type: "radio", name: "reason", value }), label));
  const comment = make("textarea", { rows: "2", maxlength: String(COMMENT_MAX), "aria-label": strings.comment, placeholder: strings.comment });
  const form = make("form", { class: "bw-reasons" },
    make("fieldset", {}, make("legend", {}, strings.why), ...reasons), comment, make("button", { type: "submit", class: "bw-button" }, strings.sendFeedback));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reason = form.querySelector("input:checked")?.value;
    if (await send({ ...(reason && { reason }), comment: comment.value })) place.replaceChildren(make("p", { class: "bw-note" }, strings.thanks));
  });
  return form;
}
