// The client of the service: JSON requests, and answers as streams of events.

export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `The service answered ${status}.`);
    this.status = status;
    this.code = body.code || "";
    this.advice = body.advice || "";
  }
}

/** A UUID of version 4. Pages without TLS have no `randomUUID`. */
export function newSessionId() {
  const digit = (sign) => (sign ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (sign / 4)))).toString(16);
  return crypto.randomUUID?.() ?? "10000000-1000-4000-8000-100000000000".replace(/[018]/g, digit);
}

export class Service {
  constructor(home, key, store) {
    this.home = new URL(home);
    this.store = store;
    this.key = key || store.secret() || "";
  }

  useKey(key) {
    this.key = key;
    this.store.keepSecret(key);
  }

  async call(path, options = {}) {
    const headers = { ...(this.key && { Authorization: `Bearer ${this.key}` }), ...(options.method && { "Content-Type": "application/json" }) };
    let response;
    try {
      response = await fetch(new URL(path, this.home), { ...options, headers, credentials: "omit", referrerPolicy: "no-referrer" });
    } catch (error) {
      throw error.name === "AbortError" ? error : await this.lost();
    }
    if (!response.ok) throw new Problem(await response.json().catch(() => ({})), response.status);
    return response;
  }

  async json(path, options) {
    return (await this.call(path, options)).json();
  }

  post(path, body, signal) {
    return this.call(path, { method: "POST", body: JSON.stringify(body), signal });
  }

  /** Why a request got no response: a site that the service does not allow, or no connection. */
  async lost() {
    if (this.home.origin !== location.origin) {
      const isReachable = await fetch(new URL("chat/strings.js", this.home), { credentials: "omit", cache: "no-store" }).then((file) => file.ok, () => false);
      if (isReachable) return new Problem({ code: "forbidden-origin" }, 403);
    }
    return new Problem({ code: "connection-lost" }, 0);
  }

  /** Yields server-sent events as [name, data]. A stream without a final event is a lost connection. */
  async *events(path, body, signal) {
    const response = await this.post(path, body, signal);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read().catch(async (error) => { throw error.name === "AbortError" ? error : await this.lost(); });
      if (done) throw await this.lost();
      text += decoder.decode(value, { stream: true });
      const whole = text.split("\n\n");
      text = whole.pop();
      for (const block of whole) {
        const [, name] = block.match(/^event: (.*)$/m) || [];
        const [, data] = block.match(/^data: (.*)$/m) || [];
        if (!name) continue;
        yield [name, JSON.parse(data)];
        if (name === "done" || name === "error") return;
      }
    }
  }
}
