// The list of keys, as a dialog.

import { button, el } from "./dom.js";

const KEYS = [
    ["Everywhere", [["/", "search"], ["n, N", "next, previous match"], ["1 – 7", "views"], ["p", "show or fold plumbing"], ["?", "this list"], ["Tab", "to the next control"], ["Escape", "leave the search; close this list"]]],
    ["Flame", [["wheel", "zoom at the pointer"], ["drag", "move"], ["click, Enter", "zoom in on a frame"], ["Backspace, Escape", "zoom out"], ["arrows", "to the caller, a callee, a neighbour"], ["0", "all"]]],
    ["Graph", [["Enter, click", "unfold"], ["Backspace", "fold"], ["F", "focus"]]],
    ["Timeline", [["W, S, wheel + Ctrl", "zoom"], ["A, D, drag", "move"], ["arrows", "to the next slice"], ["F", "zoom to the selected slice"], ["0", "all"]]],
];

let dialog = null;

export function help() {
    if (dialog === null) {
        dialog = el("dialog", { id: "keys", "aria-label": "Keys" }, button("×", () => dialog.close(), { class: "close", "aria-label": "Close" }), el("div", { class: "keys" },
            ...KEYS.map(([view, keys]) => el("section", {}, el("h3", {}, view), el("dl", {}, ...keys.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)]))))));
        document.body.append(dialog);
    }
    if (dialog.open) dialog.close();
    else dialog.showModal();
}
