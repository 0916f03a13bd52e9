/** What the page asks the server, or whoever answers in its place. */

/**
 * The server's answer; a refusal is an Error whose message is a sentence.
 * @template {keyof import("./types.js").Answers} Name
 * @param {Name} name
 * @param {Record<string, string|number|null>} [parameters] null is left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./types.js").Answers[Name]>}
 */
export const ask = (name, parameters = {}, signal) => answered(name, parameters, signal);

/**
 * Have something done; its answer, or an Error whose message is a sentence.
 * @param {string} name
 * @param {Record<string, unknown>} body
 * @returns {Promise<any>}
 */
export const send = (name, body) => done(name, body);

let answered = served, done = posted;

/** Have all this done by others instead of the server. @param {typeof served} answers @param {typeof posted} does */
export function answerWith(answers, does) {
  answered = answers;
  done = does;
}

async function served(name, parameters, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null);
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  const [response, answer] = await received(`/api/${name}?${query}`, signal);
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** @returns {Promise<any>} */
async function posted(name, body) {
  const headers = { "content-type": "application/json" };
  const [response, answer] = await received(`/api/${name}`, undefined, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const STORED = "agnn-token"; // in the browser's storage: other tabs have it, too
/** @type {string|null} */
let token = null;

/** Keep the token that the link of label mode carries, and take it out of the address; whether there was one. */
export function keepToken() {
  const said = new URLSearchParams(location.hash.slice(1)), given = said.get("token");
  try {
    if (given) localStorage.setItem(STORED, given);
    token = localStorage.getItem(STORED);
  } catch { // a browser may have no storage for this page
    token = given ?? token;
  }
  if (!given) return false;
  said.delete("token");
  history.replaceState(null, "", `#${said}`);
  return true;
}

/** @param {string} address @param {AbortSignal} [signal] @param {RequestInit} [options] */
async function received(address, signal, options = {}) {
  const headers = new Headers(options.headers);
  if (token) headers.set("authorization", `Bearer ${token}`);
  try {
    const response = await fetch(address, { ...options, signal, headers });
    const isTable = response.headers.get("content-type")?.startsWith("text/csv");
    return [response, await (isTable ? response.text() : response.json())];
  } catch (error) {
    if (error.name === "AbortError") throw error; // somebody has asked for something else
    throw new Error("The server does not answer. Is `agnn explore` still running?", { cause: error });
  }
}
