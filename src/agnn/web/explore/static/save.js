/** The view as a file: SVG, or PNG at twice the size. */

import { compared, legendKeys } from "./below.js";
import { at, svg } from "./dom.js";
import { STAR, drawn, inks } from "./drawing.js";
import { Frame } from "./frame.js";
import { lensNote } from "./lens.js";
import { precise } from "./words.js";

const TOP = 54, KEY = 22, GAP = 12; // pixels
const WIDTH = 760, GROUPS = 480; // pixels of one picture, and of the height of one in groups
const LETTER = 7; // pixels of a letter's width, generously

/**
 * The whole view as one SVG element that needs nothing from outside, in light colours.
 * @param {import("./types.js").Drawing & {marks: import("./types.js").Mark[]}} what
 * @returns {SVGSVGElement}
 */
export function standalone(what) {
  const colours = inks(at("light"));
  const width = WIDTH, height = what.looks.some((look) => look.groups) ? GROUPS : fittingHeight(what.sides, width);
  const frame = new Frame(what.sides, width, height);
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
    const best = side.probabilities.indexOf(Math.max(...side.probabilities));
    const said = `${what.titles[k]}: ${what.marks[best].name}, ${precise(side.probabilities[best])}`;
    const words = what.sides.length > 1 ? said : `${said}. ${what.verdict}`;
    made.append(
      svg("text", { x: k * width + GAP, y: 44, "font-size": 12, fill: colours.faint }, words),
      svg("g", { transform: `translate(${k * width} ${TOP})` },
        drawn(side, { ...what, look: what.looks[k], frame, colours })),
    );
  });
  keys.group.setAttribute("transform", `translate(${GAP} ${TOP + height + GAP})`);
  made.append(keys.group);
  return made;
}

/** As high as the picture is at this width, so that none of the paper stays empty. */
function fittingHeight(sides, width) {
  const { spread } = new Frame(sides, width, width);
  return Math.round(Math.min(width, Math.max(260, (width * spread[1]) / Math.max(spread[0], 1e-6))));
}

function legend(what, width, colours) {
  const group = svg("g", { "font-size": 12, fill: colours.ink });
  let x = 0, y = 8;
  for (const key of legendKeys(what.marks, what.sides, what.looks)) {
    const wide = 24 + LETTER * key.name.length;
    if (x && x + wide > width - 2 * GAP) [x, y] = [0, y + KEY];
    group.append(
      svg("g", { transform: `translate(${x + 7} ${y})` }, keyMark(key, what.lens, colours)),
      svg("text", { x: x + 18, y, "dominant-baseline": "central" }, key.name),
    );
    x += wide;
  }
  const note = wrapped(lensNote(what.lens, compared(what.marks, what.sides)), (width - 2 * GAP) / LETTER);
  for (const line of note) {
    y += KEY;
    group.append(svg("text", { x: 0, y, "dominant-baseline": "central", fill: colours.faint }, line));
  }
  return { group, height: y + KEY };
}

/** @param {{mark?: import("./types.js").Mark, sign?: string}} key @param {string} lens @param {Record<string, string>} colours */
function keyMark({ mark, sign = "" }, lens, colours) {
  if (mark) return svg("path", { d: mark.shape, fill: lens === "attention" ? mark.colour : colours.faint, transform: "scale(5.5)" });
  if (sign === "star") return svg("path", { d: STAR, fill: colours.ink, transform: "scale(7)" });
  const isSigned = sign === "for" || sign === "against";
  return svg("circle", {
    r: isSigned ? 6 : 5, fill: isSigned ? colours[sign] : colours.surface,
    stroke: isSigned || sign === "group" ? colours.outline : colours.target, "stroke-width": sign === "target" ? 3 : 1.2,
  });
}

/** A text in lines of at most so many letters. */
function wrapped(text, letters) {
  return text.split(" ").reduce((lines, word) => {
    const joined = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && joined.length <= letters) lines[lines.length - 1] = joined;
    else lines.push(word);
    return lines;
  }, []);
}

/**
 * Give a file to the visitor.
 * @param {Blob} blob
 * @param {string} name
 */
export function download(blob, name) {
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
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    download(/** @type {Blob} */ (blob), fileName(id, "png"));
  } finally {
    URL.revokeObjectURL(source);
  }
}
