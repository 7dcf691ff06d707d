// Blocks of data in the page; python/fastdispatch/page/html_blocks.py writes them.

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };

function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

async function gunzip(bytes) {
    if (typeof DecompressionStream === "undefined") {
        throw new Error("this browser cannot unpack the data: Chrome 80, Firefox 113 or Safari 16.4, or later, can");
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
}

function tableOf(described, texts, buffer, start) {
    const table = { rows: described.rows };
    for (const [name, { type, at, text }] of Object.entries(described.columns)) {
        const numbers = new ARRAYS[type](buffer, start + at, described.rows);
        table[name] = text ? Array.from(numbers, (number) => texts[number]) : numbers;
    }
    return table;
}

/** `{ values, tables }` of the block with this id; null if the page has none. */
export async function block(id) {
    const element = document.getElementById(id);
    if (element === null) return null;
    const buffer = await gunzip(fromBase64(element.textContent.trim()));
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const tables = {};
    for (const [name, described] of Object.entries(head.tables)) {
        tables[name] = tableOf(described, head.texts, buffer, 4 + length);
    }
    return { values: head.values, tables };
}
