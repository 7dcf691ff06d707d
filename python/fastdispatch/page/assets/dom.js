// Elements and texts. Names of a recording reach the document through here alone, as text, never as markup.

/** An element. `attributes`: on... are listeners, `style` is an object, false and null leave one out. */
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

/** Give a choice its options, `[value, label]` each. */
export function options(select, list, value) {
    select.replaceChildren(...list.map(([id, label]) => el("option", { value: id, selected: id === value }, label)));
    select.value = value;
}

/** What a colour, a size, ... of the style sheet is in the theme of now. */
export function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Put text on the clipboard, also where a page from a disk may not use its interface. */
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

/** How high a picture of this height is drawn: as high as its place, on paper no higher than it is. */
export function roomy(height, place) {
    return document.documentElement.dataset.print ? height : Math.max(height, place.clientHeight - 4);
}

/** Fit a canvas to its element on this screen; answers its context, in CSS pixels. */
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

/** `text` cut so that it fits, with an ellipsis; empty where not even three letters do. One letter has `letter`
 * pixels. */
export function clipped(text, width, letter) {
    const room = Math.floor(width / letter);
    if (text.length <= room) return text;
    return room < 4 ? "" : `${text.slice(0, room - 1)}…`;
}
