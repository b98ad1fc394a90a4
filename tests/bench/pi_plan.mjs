// What Pi 1.6.0 does before it can compact a session: open the file, follow the branch, prepare the compaction.
//
//   node pi_plan.mjs DIR SESSION [--figures]      prints {"firstKept": "#N", "entries": n, …}
//
// --figures adds what `compactor plan --json` also says: all tokens counted, and hashes of what a summarizer would read.
import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";

const core = new URL("node_modules/@earendil-works/pi-coding-agent/dist/core/", `${pathToFileURL(process.argv[2])}/`);
const load = (name) => import(new URL(name, core));
const { SessionManager } = await load("session-manager.js");
const { DEFAULT_COMPACTION_SETTINGS, estimateProjectedContextTokens, estimateTokens, prepareCompaction } =
  await load("compaction/compaction.js");

const manager = SessionManager.open(process.argv[3]);
const branch = manager.getBranch();
const preparation = prepareCompaction(branch, DEFAULT_COMPACTION_SETTINGS);
const entries = manager.getEntries();
const first = preparation ? `#${entries.findIndex((entry) => entry.id === preparation.firstKeptEntryId)}` : null;
const found = { firstKept: first, entries: entries.length };
if (process.argv[4] === "--figures" && preparation) {
  const { serializeConversation } = await load("compaction/utils.js");
  const { convertToLlm } = await load("messages.js");
  const projection = manager.buildSessionProjection();
  found.messageTokens = projection.messages.reduce((sum, message) => sum + estimateTokens(message), 0);
  found.contextTokens = estimateProjectedContextTokens(projection, branch).tokens;
  for (const messages of [preparation.messagesToSummarize, preparation.turnPrefixMessages]) {
    const text = serializeConversation(convertToLlm(messages));
    found[text.length] = createHash("sha256").update(text, "utf8").digest("hex");
  }
}
console.log(JSON.stringify(found));
