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

async function received(address, signal, options = {}) {
  try {
    const response = await fetch(address, { signal, ...options });
    return [response, await response.json()];
  } catch (error) {
    if (error.name === "AbortError") throw error; // somebody has asked for something else
    throw new Error("The server does not answer. Is `agnn explore` still running?");
  }
}
