/** The view as a file: SVG, or PNG at twice the size. */

import { drawnClasses } from "./below.js";
import { svg } from "./dom.js";
import { drawn, inks } from "./drawing.js";
import { Frame } from "./frame.js";

const TOP = 54, KEY = 22, GAP = 12; // pixels
const LETTER = 7; // pixels of a letter's width, generously

/**
 * The whole view as one SVG element that needs nothing from outside.
 * @param {{sides: import("./questions.js").Side[], titles: string[], heading: string,
 *   marks: import("./questions.js").Mark[], views: number[], gone: Set<string>}} what
 * @param {{width: number, height: number, zoom: number, shift: [number, number]}} size of one picture
 * @returns {SVGSVGElement}
 */
export function standalone(what, { width, height, zoom, shift }) {
  const colours = inks();
  const frame = new Frame(what.sides, width, height).look(zoom, shift);
  const whole = width * what.sides.length;
  const keys = legend(what, whole, colours);
  const tall = TOP + height + keys.height + GAP;
  const made = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg", width: whole, height: tall, viewBox: `0 0 ${whole} ${tall}`,
    "font-family": "system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif",
  });
  made.append(
    svg("title", {}, what.heading),
    svg("rect", { width: whole, height: tall, fill: colours.surface }),
    svg("text", { x: GAP, y: 22, "font-size": 14, "font-weight": 600, fill: colours.ink }, what.heading),
  );
  what.sides.forEach((side, k) => {
    const clip = `side-${k}`;
    made.append(
      svg("clipPath", { id: clip }, svg("rect", { width, height })),
      svg("text", { x: k * width + GAP, y: 44, "font-size": 12, fill: colours.faint }, what.titles[k]),
      svg("g", { transform: `translate(${k * width} ${TOP})` },
        svg("g", { "clip-path": `url(#${clip})` }, drawn(side, { ...what, view: what.views[k], frame, colours }))),
    );
  });
  keys.group.setAttribute("transform", `translate(${GAP} ${TOP + height + GAP})`);
  made.append(keys.group);
  return made;
}

function legend(what, width, colours) {
  const group = svg("g", { "font-size": 12, fill: colours.ink });
  let x = 0, y = 8;
  for (const label of drawnClasses(what.sides)) {
    const mark = what.marks[label];
    const wide = 24 + LETTER * mark.name.length;
    if (x && x + wide > width - 2 * GAP) [x, y] = [0, y + KEY];
    group.append(
      svg("path", { d: mark.shape, fill: mark.colour, transform: `translate(${x + 7} ${y}) scale(5.5)` }),
      svg("text", { x: x + 18, y, "dominant-baseline": "central" }, mark.name),
    );
    x += wide;
  }
  return { group, height: y + KEY };
}

/**
 * Give a file to the visitor.
 * @param {Blob} blob
 * @param {string} name
 */
function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A file name from a node's id, which may hold anything. */
export function fileName(id, ending) {
  const plain = id.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60).replace(/^[-.]+|[-.]+$/g, "");
  return `agnn-${plain || "node"}.${ending}`;
}

/** @param {SVGSVGElement} picture @param {string} id */
export function saveSvg(picture, id) {
  const text = new XMLSerializer().serializeToString(picture);
  download(new Blob([text], { type: "image/svg+xml" }), fileName(id, "svg"));
}

/** @param {SVGSVGElement} picture @param {string} id */
export async function savePng(picture, id) {
  const text = new XMLSerializer().serializeToString(picture);
  const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = source;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    download(blob, fileName(id, "png"));
  } finally {
    URL.revokeObjectURL(source);
  }
}
