/** What the page asks the server. */

/** @typedef {{name: string, colour: string, ink: string, shape: string}} Mark */
/**
 * A node of a picture. `share` and `radius` are by view: all layers, then each layer; the last
 * radius is that of the contribution.
 * @typedef {{index: number, id: string, hop: number, parent: number, label: number,
 *   answer: number, confidence: number, is_train: boolean, place: [number, number],
 *   share: number[], contribution: number, radius: number[], title?: string, is_gone?: boolean, attention: (number|null)[], relevance: (number|null)[]}} Dot
 */
/**
 * An edge between two positions a < b. `attention` and `relevance` are by direction (to a, to b)
 * and layer, `crossing` by view.
 * @typedef {{ends: [number, number], attention: (number|null)[][], relevance: (number|null)[][],
 *   crossing: number[], weight: number|null}} Link
 */
/**
 * @typedef {{probabilities: number[], nodes: Dot[], links: Link[], left_out: number,
 *   elsewhere: number, farther: number, why: any}} Side
 */

/**
 * The server's answer; a refusal is an Error whose message is a sentence.
 * @param {string} name
 * @param {Record<string, any>} [parameters] null is left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export const ask = (name, parameters = {}, signal) => answered(name, parameters, signal);

let answered = served;

/** Have all questions answered by this instead of the server. @param {typeof served} other */
export function answerWith(other) {
  answered = other;
}

async function served(name, parameters, signal) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null);
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  const [response, answer] = await received(`/api/${name}?${query}`, signal);
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/**
 * Have the server do something; its answer, or an Error whose message is a sentence.
 * @param {string} name
 * @param {any} body
 * @returns {Promise<any>}
 */
export async function send(name, body) {
  const headers = { "content-type": "application/json" };
  const [response, answer] = await received(`/api/${name}`, undefined, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const STORED = "agnn-token"; // in the browser's storage: other tabs have it, too
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

async function received(address, signal, { headers = {}, ...options } = {}) {
  const bearer = token ? { authorization: `Bearer ${token}` } : {};
  try {
    const response = await fetch(address, { signal, headers: { ...headers, ...bearer }, ...options });
    const isTable = response.headers.get("content-type")?.startsWith("text/csv");
    return [response, await (isTable ? response.text() : response.json())];
  } catch (error) {
    if (error.name === "AbortError") throw error; // somebody has asked for something else
    throw new Error("The server does not answer. Is `agnn explore` still running?");
  }
}
