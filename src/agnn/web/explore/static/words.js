/** Numbers in words. */

/** @param {number} value */
export const percent = (value) =>
  value === 0 ? "0 %" : value < 0.001 ? "<0.1 %" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;

/** @param {number} value */
export const precise = (value) => `${(100 * value).toFixed(1)} %`;

/** @param {number|null} value */
export const plain = (value) => (value === null ? "–" : value.toFixed(3));

/** @param {number|null} value */
export const signed = (value) =>
  value === null ? "–" : `${value < -0.005 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

/** @param {number} count @param {string} one */
export const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

/** A long text without its middle: titles that begin alike stay apart. @param {string} text @param {number} most */
export function short(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor(most / 3);
  return `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}`;
}
