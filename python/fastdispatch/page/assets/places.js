// Source position of a function: its file, and a link that opens it in an editor.

import { button, copy, el } from "./dom.js";
import { trace } from "./trace.js";

/** Filled from the block "data-source": the path of each file that was found, texts by node, executions and time by node and line. */
export const sources = { paths: Object.create(null), texts: new Map(), any: false };

/** "model.py:47", and the path of the file if it was found when the page was made. */
export function placeOf(node) {
    const { nodes } = trace;
    if (!nodes.file[node] || !nodes.line[node]) return null;
    const path = sources.paths[nodes.file[node]] ?? null;
    return { text: `${nodes.file[node]}:${nodes.line[node]}`, path, line: nodes.line[node] };
}

export function places(node) {
    const place = placeOf(node);
    if (place === null) return "";
    const full = place.path === null ? place.text : `${place.path}:${place.line}`;
    return el("p", { class: "place" },
        place.path === null ? "" : el("a", { href: editor(place), title: "Open in Visual Studio Code" }, "open in editor"),
        el("code", {}, full.slice(0, 1000)),
        button("copy", () => copy(full), { "aria-label": "Copy the place" }));
}

function editor({ path, line }) {
    return `vscode://file${path.split("/").map(encodeURIComponent).join("/")}:${line}`;
}
