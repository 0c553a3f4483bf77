// The API keys: create one, whose secret is shown once, and revoke one.

import { request, storedKey, storeKey } from "./client.js";
import { announce, button, confirmed, copyButton, h, moment, note, problem, section, table } from "./elements.js";

export async function render(root, context) {
  const errors = h("div", {}), secret = h("div", {}), list = h("div", {});
  const attempt = async (work) => {
    errors.replaceChildren();
    try { await work(); } catch (error) { errors.replaceChildren(problem(error)); }
  };
  const refresh = async () => {
    const { keys } = await request("GET", "keys", { signal: context.signal });
    list.replaceChildren(keyTable(keys, (key) => attempt(() => revoke(key, refresh, context))));
  };
  const create = (form, body) => attempt(async () => {
    const created = await request("POST", "keys", { body });
    form.reset();
    if (!storedKey()) storeKey(created.secret); // the service needs a key from now on
    secret.replaceChildren(shownOnce(created));
    announce("The key was created. Its secret is shown only now.");
    await refresh();
  });
  const isOpen = !storedKey();
  root.append(errors, section("Create a key",
    isOpen && note("This service needs no key yet. After the first one, every request needs a key: the page of readers too. So the first key is an admin key."),
    form(create, context, isOpen), secret), section("Keys", list));
  await refresh();
}

async function revoke(key, refresh, context) {
  const text = key.is_current ? "This is the key that you use now: you will be signed out." : "It stops working at once and cannot be restored.";
  if (!(await confirmed(`Revoke “${key.name}”?`, text, "Revoke the key"))) return;
  await request("DELETE", `keys/${encodeURIComponent(key.id)}`);
  announce(`${key.name} was revoked.`);
  await (key.is_current ? context.signOut() : refresh());
}

function form(create, context, isOpen) {
  const name = h("input", { name: "name", required: true, maxlength: "100", placeholder: "course website" });
  const role = h("select", { name: "role" }, !isOpen && h("option", { value: "reader" }, "reader: asks and searches"),
    h("option", { value: "admin" }, "admin: also ingests, removes, sees this page"));
  const books = h("select", { name: "books" }, h("option", { value: "" }, "all books"),
    context.books.map((book) => h("option", { value: book.id }, book.title)));
  const origins = h("input", { name: "origins", placeholder: "https://book.example" });
  return h("form", { class: "form", onsubmit: (event) => {
    event.preventDefault();
    create(event.target, { name: name.value, role: role.value, books: books.value ? [books.value] : [], origins: origins.value.split(/[\s,]+/).filter(Boolean) });
  } },
  h("label", {}, "Name", name), h("label", {}, "Role", role), h("label", {}, "Books", books),
  h("label", {}, "Only from these sites (optional)", origins), h("button", { class: "primary" }, "Create key"));
}

function shownOnce(created) {
  const code = h("code", {}, created.secret);
  return h("div", { class: "note good" }, h("p", {}, `Secret of “${created.key.name}”. It is shown only now: copy it to a safe place.`),
    h("p", { class: "actions" }, code, copyButton(() => created.secret, "Copy secret")));
}

function keyTable(keys, onRevoke) {
  const columns = [{ title: "Name", short: true }, { title: "Role" }, { title: "Books" }, { title: "Sites" }, { title: "Per minute", number: true },
    { title: "Created", short: true }, { title: "State", short: true }];
  return table("Keys", columns, keys.map((key) => [
    [h("b", {}, key.name), h("div", { class: "soft" }, key.id, key.is_current && " (yours)")], key.role, key.books.join(", ") || "all",
    key.origins.join(", ") || "any", String(key.rate_per_minute), moment(key.created_at),
    key.revoked_at ? `revoked ${moment(key.revoked_at)}` : button("Revoke", () => onRevoke(key), { class: "danger", "aria-label": `Revoke ${key.name}` })]),
  { empty: "There is no key yet.", cards: true });
}
