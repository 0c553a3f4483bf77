// The reader's page: the chat in the whole window. `?book=ID` selects a book, `?q=QUESTION` asks at once.

import { createChat } from "./chat/chat.js";
import { Filters } from "./chat/filters.js";
import { ThreadList } from "./chat/threads.js";

const home = new URL(".", import.meta.url);
const parameters = new URLSearchParams(location.search);

const chat = createChat({ root: document.getElementById("chat"), home, startBook: parameters.get("book"), shortcut: "k", ThreadList, Filters });
chat.on("book", ({ title }) => { document.title = `${title} · Bookwise`; });
globalThis.bookwiseChat = chat;

const question = parameters.get("q");
if (parameters.size) history.replaceState(null, "", location.pathname); // a reload must not ask again
if (question) chat.askLinked(question);
else if (matchMedia("(hover: hover)").matches) chat.focus(); // on a phone, the keyboard would cover the page
