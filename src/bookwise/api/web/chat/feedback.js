// Thumbs, with a reason and a comment for the author of the book.

import { button, make } from "./dom.js";

const COMMENT_MAX = 2000;

/** The two thumbs, and the place of the form that a thumb down opens. */
export function feedback(chat, answer) {
  const { strings } = chat;
  const thumbs = {
    up: button({ name: "up", label: strings.helpful, css: "bw-quiet", "aria-pressed": "false" }),
    down: button({ name: "down", label: strings.unhelpful, css: "bw-quiet", "aria-pressed": "false" }),
  };
  const place = make("div", { class: "bw-feedback" });

  const rate = async (thumb, more = {}) => {
    try {
      await chat.service.post("feedback", { answer_id: answer, thumb, ...more });
    } catch (error) {
      return chat.showProblem(error);
    }
    for (const [name, control] of Object.entries(thumbs)) control.setAttribute("aria-pressed", String(name === thumb));
    chat.emit("feedback", { answer_id: answer, thumb, ...more });
    chat.announce(strings.thanks);
  };

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
    await send({ ...(reason && { reason }), comment: comment.value });
    place.replaceChildren(make("p", { class: "bw-note" }, strings.thanks));
  });
  return form;
}
