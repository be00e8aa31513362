// Reads flowcharts with the parser of Mermaid: a list of texts as JSON from the standard
// input; writes the nodes and edges that it has found, with their texts decoded, as JSON.
// The argument is the folder where npm installed mermaid, and jsdom, which it needs here.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.argv[2], "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));

const { JSDOM } = await load("jsdom");
globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
const { default: mermaid } = await load("mermaid/dist/mermaid.core.mjs");
mermaid.initialize({ startOnLoad: false, securityLevel: "strict" });

const decoded = (text) =>
  (text ?? "").replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(code));
const found = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  const nodes = {};
  for (const { id, text } of db.getVertices().values()) nodes[id] = decoded(text);
  const edges = db.getEdges().map(({ start, end, text }) => [start, end, decoded(text)]);
  found.push({ nodes, edges });
}
process.stdout.write(JSON.stringify(found));
