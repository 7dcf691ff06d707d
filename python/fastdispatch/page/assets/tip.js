// The tooltip.

import { el } from "./dom.js";

let box;

/** Lines, the first one strong; empty ones are omitted. */
export function showTip(event, lines) {
    box ??= document.body.appendChild(el("div", { class: "tip", role: "tooltip" }));
    const [head, ...rest] = lines.filter(Boolean);
    box.replaceChildren(el("strong", {}, shortened(head)), ...rest.map((line) => el("div", {}, shortened(line))));
    box.hidden = false;
    const room = 12;
    const left = Math.min(event.clientX + room, window.innerWidth - box.offsetWidth - room);
    const below = event.clientY + room + box.offsetHeight < window.innerHeight;
    box.style.left = `${Math.max(room, left)}px`;
    box.style.top = `${below ? event.clientY + room : Math.max(room, event.clientY - room - box.offsetHeight)}px`;
}

export function hideTip() {
    if (box) box.hidden = true;
}

function shortened(text) {
    return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
