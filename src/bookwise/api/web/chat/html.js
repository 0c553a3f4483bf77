// The only place that turns text into HTML. The HTML comes from the service, which sanitizes it.

const policy = globalThis.trustedTypes?.createPolicy("bookwise", { createHTML: (html) => html });

/** Returns the HTML of the service as nodes. */
export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return template.content;
}

/** Shows a change of a streamed answer: the first `keep` elements stay, the HTML replaces all others. */
export function replaceFrom(container, keep, html) {
  const last = keep ? container.children[keep - 1] : null;
  while (container.lastChild !== last) container.lastChild.remove();
  container.append(fragment(html));
  return [...container.children].slice(keep);
}
