// Requests to the service. The key stays in this tab: sessionStorage ends with it.

const HOME = new URL("../../", import.meta.url);
const STORED_KEY = "bookwise:author:key";

export class ServiceError extends Error {
  constructor(status, problem) {
    super(problem.detail || `The service answered with status ${status}.`);
    this.status = status;
    this.code = problem.code || "";
    this.advice = problem.advice || "";
  }
}

export const storedKey = () => sessionStorage.getItem(STORED_KEY) || "";
export const storeKey = (key) => sessionStorage.setItem(STORED_KEY, key);
export const forgetKey = () => sessionStorage.removeItem(STORED_KEY);

export async function request(method, path, { query = {}, body, signal } = {}) {
  const response = await send(method, path, { query, body, signal });
  return response.status === 204 ? null : response.json();
}

export async function download(path, query, filename) {
  const response = await send("GET", path, { query });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function send(method, path, { query, body, signal }) {
  const url = new URL(path, HOME);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const headers = { "X-Requested-With": "bookwise" };
  if (storedKey()) headers.Authorization = `Bearer ${storedKey()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, { detail: "The service is not reachable.", advice: "Check the connection and try again." });
  }
  if (response.ok) return response;
  throw new ServiceError(response.status, await response.json().catch(() => ({})));
}
