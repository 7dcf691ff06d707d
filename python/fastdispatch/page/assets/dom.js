// Elements and texts. Names of a recording reach the document only through this module, as text, never as markup.

/** An element. `attributes`: on... are listeners, `style` is an object; false and null omit an attribute. */
export function el(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === false || value === null || value === undefined) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "style") Object.assign(element.style, value);
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
}

export function button(label, onclick, attributes = {}) {
    return el("button", { type: "button", onclick, ...attributes }, label);
}

/** Set the options of a select element: `[value, label]` pairs. */
export function options(select, list, value) {
    select.replaceChildren(...list.map(([id, label]) => el("option", { value: id, selected: id === value }, label)));
    select.value = value;
}

/** The value of a colour or size of the style sheet in the current theme. */
export function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Copy text to the clipboard, also from a local file without access to the clipboard interface. */
export async function copy(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = el("textarea", { "aria-hidden": "true" }, text);
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}

/** The drawn height of a picture: that of its container, on paper at most its own. */
export function roomy(height, place) {
    return document.documentElement.dataset.print ? height : Math.max(height, place.clientHeight - 4);
}

/** Fit a canvas to its element; returns its context, in CSS pixels. */
export function fitted(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
}

/** `text`, truncated with an ellipsis; empty if fewer than three letters fit. One letter has `letter` pixels. */
export function clipped(text, width, letter) {
    const room = Math.floor(width / letter);
    if (text.length <= room) return text;
    return room < 4 ? "" : `${text.slice(0, room - 1)}…`;
}
