// Addresses of cited places.

const ADDRESS_MAX = 1500; // characters of quotes in an address

/** The absolute URL if it is http(s), else null. */
export function webAddress(url) {
  try {
    const resolved = new URL(url);
    return /^https?:$/.test(resolved.protocol) ? resolved.href : null;
  } catch {
    return null;
  }
}

/** A quote as the words that a page shows; empty for tables, code and formulas, whose words a page shows differently. */
export function plainQuote(quote) {
  if (!quote || /^\s*(\||```|~~~|\$\$)/m.test(quote)) return "";
  return quote.replace(/^\s*(?:[-*+]|\d+[.)]|#+)\s+/, "").replace(/!?\[([^\]]+)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/\s+/g, " ").trim();
}

/** The page at its heading, scrolled to the quote by browsers that know text fragments. */
export function quoteAddress(url, quote) {
  const address = webAddress(url);
  const text = plainQuote(quote);
  if (!address || !text || !("fragmentDirective" in document)) return address;
  const words = text.split(" ");
  const encode = (part) => encodeURIComponent(part.join(" ")).replace(/-/g, "%2D");
  const range = words.length > 8 ? `${encode(words.slice(0, 4))},${encode(words.slice(-4))}` : encode(words);
  return `${address}${address.includes("#") ? "" : "#"}:~:text=${range}`;
}

/** The lesson page of the service, for books without a site of their own. */
export function lessonAddress(home, { lesson, book, quotes, chunk }) {
  const url = new URL(`read/${encodeURIComponent(lesson)}`, home);
  url.search = new URLSearchParams({ book, chunk });
  let room = ADDRESS_MAX;
  for (const quote of quotes.filter(Boolean)) if ((room -= quote.length) >= 0) url.searchParams.append("quote", quote);
  return url.href;
}

export function placeTitle({ page_title: page, section }) {
  return section && section !== page ? `${page} › ${section}` : page;
}
