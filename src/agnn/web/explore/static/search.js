/** The search field with its list, as a combobox. */

import { html } from "./dom.js";
import { ask } from "./questions.js";

const PAUSE = 120; // milliseconds without a key before the server is asked

/**
 * Make a field work.
 * @param {import("./types.js").Page} page
 * @param {HTMLInputElement} field
 * @param {HTMLElement} list
 * @param {(id: string) => void} chosen
 */
export function searchable(page, field, list, chosen) {
  let timer = 0, running = new AbortController(), active = -1;

  const close = () => {
    list.hidden = true;
    active = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (id) => {
    close();
    field.value = "";
    chosen(id);
  };
  const look = async () => {
    running.abort();
    running = new AbortController();
    if (!list.hidden && list.dataset.query === field.value) return; // a choice in it stays
    try {
      const asked = field.value;
      const answer = await ask("search", { q: asked }, running.signal);
      list.replaceChildren(...options(list.id, answer, page.marks, choose));
      list.dataset.query = asked;
      list.hidden = false;
      active = -1;
      field.setAttribute("aria-expanded", "true");
    } catch (error) {
      if (error.name !== "AbortError") page.fail(error);
    }
  };
  const move = (step) => {
    const all = [...list.querySelectorAll("[role=option][data-id]")];
    if (!all.length) return;
    active = (active + step + all.length) % all.length;
    all.forEach((each, k) => each.setAttribute("aria-selected", String(k === active)));
    all[active].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", all[active].id);
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  });
  field.addEventListener("focus", look);
  field.addEventListener("blur", () => setTimeout(close, 150));
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      // Without a choice the best match; what matches nothing the server refuses in a sentence.
      const best = field.value && list.dataset.query === field.value ? list.querySelector("[data-id]") : null;
      const picked = list.querySelector("[aria-selected=true]") ?? best;
      const id = picked ? picked.getAttribute("data-id") : field.value.trim();
      clearTimeout(timer);
      running.abort();
      if (id) choose(id);
    } else if (event.key === "Escape") {
      close();
    }
  });
}

function options(name, answer, marks, choose) {
  const made = answer.nodes.map((node, k) => {
    const option = html("li", { id: `${name}-${k}`, role: "option", "data-id": node.id, "aria-selected": "false" },
      html("b", {}, node.title ?? node.id), html("span", {}, marks.at(node.label).name),
      html("small", {}, `${node.title ? `${node.id} · ` : ""}${node.degree} neighbours`));
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      choose(node.id);
    });
    return option;
  });
  const note = !made.length ? "Nothing is called so." : answer.is_all ? "" : "… and more; type on.";
  if (note) made.push(html("li", { role: "option", "aria-disabled": "true", class: "note" }, note));
  return made;
}
