/** The two ends between which labels go in a notebook: the page in its frame, and the widget around it. */

const FRAME = "agnn-widget"; // the name of a frame that has a widget around it

// The end in the page.

/** @type {((labels: any) => void)[]} who waits for the labels */
const waiting = [];

/** Whether a widget is around this page. */
export const isInWidget = () => globalThis.window?.name === FRAME;

/** Tell the widget what is asked or sent; the labels that Python has then. */
export function tellWidget(message) {
  return new Promise((done) => {
    waiting.push(done);
    parent.postMessage(message, "*"); // a sandboxed page does not know where it is
  });
}

/** Hear of labels that nobody here waits for: given in another view of the widget, or in Python. */
export function hearLabels(take) {
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (waiting.length) waiting.splice(0).forEach((done) => done(data));
    else take(data);
  });
}

// The end in the notebook, which gets this file from Python.

export default {
  /** Show the page; gives what is to be done when the view is removed. */
  render({ model, el }) {
    const parsed = new DOMParser().parseFromString(model.get("frame"), "text/html");
    const frame = /** @type {HTMLIFrameElement} */ (parsed.querySelector("iframe"));
    frame.name = FRAME; // before the page is loaded, which looks at it
    const tell = () => frame.contentWindow?.postMessage(model.get("kept"), "*"); // a sandboxed page has no origin
    const hear = ({ source, data }) => {
      if (source !== frame.contentWindow) return; // any window can send messages
      if (data.asked) return tell();
      const entries = model.get("entries"), { sent, ...entry } = data;
      model.set("entries", sent === "labels/undo" ? entries.slice(0, -1) : [...entries, entry]);
      model.save_changes();
    };
    addEventListener("message", hear);
    model.on("change:kept", tell);
    el.append(frame);
    return () => {
      removeEventListener("message", hear);
      model.off("change:kept", tell);
    };
  },
};
