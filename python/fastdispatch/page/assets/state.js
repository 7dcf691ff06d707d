// What all views share: the selection, the filters, how each is turned. It is in the URL's fragment, so that a link or
// a bookmark opens the page as it is now.

const DEFAULTS = {
    view: "flame",
    weight: "", // the first there is
    query: "",
    package: "",
    kind: "",
    phase: "",
    rank: -1, // place of the rank whose figures are shown; -1: all together
    said: "", // of a comparison: changed, new, gone, ...
    min: 0, // least share, in percent
    node: -1, // the selected function
    zoom: "", // of the flame
    reverse: false,
    join: true, // repeats of a module are one
    flip: false, // roots below
    open: "", // groups of the graph that are unfolded
    focus: -1, // group of the graph
    depth: 1, // how far from it
    heaviest: false, // path of the graph
    sort: "",
    ascending: false,
    from: 0, // what of the timeline is in view, ns
    to: 0,
    slice: -1, // the selected one of it
    theme: "",
};

export const state = { ...DEFAULTS };

/** What this page begins with, where it differs. */
export function begin(defaults) {
    Object.assign(DEFAULTS, defaults);
}

const listeners = [];

/** Be told of changes: `listener(names)`, a Set. */
export function listen(listener) {
    listeners.push(listener);
}

function parsed(name, text) {
    const kind = typeof DEFAULTS[name];
    if (kind === "boolean") return text === "1";
    if (kind === "number") return Number.isFinite(Number(text)) ? Number(text) : DEFAULTS[name];
    return text;
}

function fragment() {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) {
        if (value !== DEFAULTS[name]) words.set(name, value === true ? "1" : value === false ? "0" : String(value));
    }
    return `#${words}`;
}

/** Change some of the state. A change of the view is a step back of the browser's button; others are not. */
export function set(changes) {
    const names = new Set(Object.keys(changes).filter((name) => state[name] !== changes[name]));
    if (names.size === 0) return;
    Object.assign(state, changes);
    const method = names.has("view") ? "pushState" : "replaceState";
    window.history[method](null, "", fragment());
    tell(names);
}

function tell(names) {
    for (const listener of listeners) listener(names);
}

/** Take the state from the address, at the start and when the person edits it or goes back. */
export function restore() {
    const words = new URLSearchParams(window.location.hash.slice(1));
    for (const name of Object.keys(DEFAULTS)) {
        state[name] = words.has(name) ? parsed(name, words.get(name)) : DEFAULTS[name];
    }
}

window.addEventListener("popstate", () => {
    restore();
    tell(new Set(Object.keys(DEFAULTS)));
});

/** Everything but the view and the theme as it was at the start. */
export function reset() {
    const { view, theme, weight } = state;
    set({ ...DEFAULTS, view, theme, weight });
}
