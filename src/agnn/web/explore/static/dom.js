/** Elements made from data: text goes in as text, never as markup. */

const SVG = "http://www.w3.org/2000/svg";

/** What is set before it is first read: null that passes for any type. @type {any} */
export const LATER = null;

/**
 * The element of the page with this id; any kind of element, so its type is not checked.
 * @param {string} id
 * @returns {any}
 */
export const at = (id) => document.getElementById(id);

/**
 * A new HTML element.
 * @param {string} name
 * @param {Record<string, any>} [attributes] undefined, null and false are left out
 * @param {...(Node | string)} children
 * @returns {any}
 */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/**
 * A new SVG element.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string)} children
 * @returns {any}
 */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/**
 * A button that does something.
 * @param {string | Node} label
 * @param {() => void} action
 * @param {Record<string, any>} [attributes]
 */
export function button(label, action, attributes = {}) {
  const made = html("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", action);
  return made;
}

const TAIL = 6; // letters at the end of a shortened name

/**
 * Shorten a name that does not fit in its middle, so that names with the same beginning still differ.
 * @param {string} text
 * @param {string} [element]
 */
export function named(text, element = "span") {
  if (text.length <= 3 * TAIL) return html(element, { class: "named" }, text);
  return html(element, { class: "named long" }, html("span", { class: "head" }, text.slice(0, -TAIL)),
    html("span", { class: "tail" }, text.slice(-TAIL)));
}

/** The columns of a table whose widths the style sheet has, by their names. */
export const columns = (...names) => html("colgroup", {}, ...names.map((name) => html("col", { class: `col-${name}` })));
