/** Where places of the layout stand on the screen. */

/** @typedef {import("./types.js").Side} Side */

const MARGIN = 26; // pixels around the outermost marks, for labels
const LARGEST = 105; // pixels of an edge, so that two nodes alone are not blown up

export class Frame {
  /**
   * The frame that holds every side in every view.
   * @param {Side[]} sides
   * @param {number} width
   * @param {number} height
   */
  constructor(sides, width, height) {
    const dots = sides.flatMap((side) => side.nodes);
    const low = [0, 1].map((k) => Math.min(...dots.map((d) => d.place[k] - Math.max(...d.radius))));
    const high = [0, 1].map((k) => Math.max(...dots.map((d) => d.place[k] + Math.max(...d.radius))));
    this.middle = [0, 1].map((k) => (low[k] + high[k]) / 2);
    const inner = [width, height].map((side) => Math.max(side - 2 * MARGIN, 40));
    this.scale = Math.min(LARGEST, ...[0, 1].map((k) => inner[k] / Math.max(high[k] - low[k], 1e-6)));
    this.size = [width, height];
    this.shift = [0, 0];
    this.zoom = 1;
    this.spread = [0, 1].map((k) => high[k] - low[k]);
  }

  /**
   * Zoomed by a factor around the middle of the screen, and moved by pixels.
   * @param {number} zoom
   * @param {number[]} shift
   */
  look(zoom, shift) {
    const looked = Object.create(Frame.prototype);
    return Object.assign(looked, this, {
      zoom, scale: this.scale * zoom,
      shift: shift.map((each) => each * zoom),
    });
  }

  /** @param {[number, number]} place @returns {[number, number]} pixels */
  at(place) {
    const along = (k) => this.size[k] / 2 + this.shift[k] + (place[k] - this.middle[k]) * this.scale;
    return [along(0), along(1)];
  }

  /** @param {number} radius @returns {number} pixels, never too few to be seen */
  radius(radius) {
    return Math.max(radius * this.scale, 3.5);
  }
}
