// Answers questions about session files with the code of the real Pi 1.6.0.
//
//   node pi_context.mjs DIR          DIR holds node_modules/@earendil-works/pi-coding-agent
//
// stdin: one job a line, {"op": …, "file": …, …}. stdout: one answer a line, or {"error": message}. Ops:
//   open      what Pi rebuilds when it opens the file: entries, branch, messages, messages for a model, prepared cut
//   answer    the figures of one case: leaf (position after the header, or null), keep, reserve, window; reads only
//   continue  appends a user message as Pi does (`text`) and rebuilds
//   compact   runs Pi's own compaction with a stub model that answers `reply` and reports `usage`, and appends its entry
//   branch    what a branch summary reads between two positions, `from` and `to`, with a `budget` (0: no limit)
//   branchSummary  runs Pi's own branch summary from entry id `from` to `to` with such a model, and appends its entry
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const core = new URL("node_modules/@earendil-works/pi-coding-agent/dist/core/", `${pathToFileURL(process.argv[2])}/`);
const load = (name) => import(new URL(name, core));
const sessions = await load("session-manager.js");
const compaction = await load("compaction/compaction.js");
const texts = await load("compaction/utils.js");
const branches = await load("compaction/branch-summarization.js");
const { convertToLlm } = await load("messages.js");

const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");
const sumTokens = (messages) => messages.reduce((sum, message) => sum + compaction.estimateTokens(message), 0);

const PRICES = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: PRICES };

function stubModel(reply, usage = NO_USAGE) {
  const message = { role: "assistant", content: [{ type: "text", text: reply }], stopReason: "stop", usage };
  const stub = { requests: 0 };
  stub.stream = async () => {
    stub.requests += 1;
    return { result: async () => message };
  };
  return stub;
}

async function runCompaction(preparation, reply, usage) {
  const stub = stubModel(reply, usage);
  const model = { id: "stub", provider: "stub" };
  const nothing = Array(5).fill(undefined);
  const result = await compaction.compact(preparation, model, ...nothing, stub.stream);
  return { ...result, requests: stub.requests };
}

function branchTo(entries, leaf) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path = [];
  const seen = new Set();
  for (let at = leaf; at && !seen.has(at); at = at.parentId ? byId.get(at.parentId) : undefined) {
    seen.add(at);
    path.push(at);
  }
  return path.reverse();
}

function planFields(preparation, entries) {
  const position = new Map(entries.map((entry, index) => [entry.id, index]));
  const history = texts.serializeConversation(convertToLlm(preparation.messagesToSummarize));
  const prefix = texts.serializeConversation(convertToLlm(preparation.turnPrefixMessages));
  return {
    firstKept: `#${position.get(preparation.firstKeptEntryId)}`,
    isSplitTurn: preparation.isSplitTurn,
    messagesToSummarize: preparation.messagesToSummarize.length,
    turnPrefixMessages: preparation.turnPrefixMessages.length,
    tokensBefore: preparation.tokensBefore,
    previousSummaryChars: preparation.previousSummary?.length ?? null,
    ...texts.computeFileLists(preparation.fileOps),
    historyChars: history.length,
    historySha256: sha256(history),
    prefixChars: prefix.length,
    prefixSha256: sha256(prefix),
  };
}

function parsedEntries(file) {
  const rows = sessions.parseSessionEntries(readFileSync(file, "utf8"));
  sessions.migrateSessionEntries(rows);
  return rows.filter((row) => row.type !== "session");
}

async function answer({ file, leaf, keep, reserve, window, reply }) {
  const entries = parsedEntries(file);
  const leafEntry = leaf === null ? entries.at(-1) : entries[leaf];
  const path = branchTo(entries, leafEntry);
  const settings = { enabled: true, reserveTokens: reserve, keepRecentTokens: keep };
  const projection = sessions.buildSessionProjection(path);
  const context = compaction.estimateProjectedContextTokens(projection, path);
  const roles = {};
  for (const { role } of projection.messages) roles[role] = (roles[role] ?? 0) + 1;
  const found = {
    branchEntries: path.length,
    contextEntries: projection.entries.length,
    messages: projection.messages.length,
    roles,
    messageTokens: sumTokens(projection.messages),
    contextTokens: context.tokens,
    usageTokens: context.usageTokens,
    trailingTokens: context.trailingTokens,
    shouldCompact: compaction.shouldCompact(context.tokens, window, settings),
    plan: null,
    compaction: null,
  };
  const preparation = compaction.prepareCompaction(path, settings);
  if (!preparation) return found;
  found.plan = planFields(preparation, entries);
  const done = await runCompaction(preparation, reply);
  // In memory, so that Pi itself makes the entry. The system message that it adds is left out of the figure, as in the
  // exact mode that is compared; see docs/estimated-tokens-after.md.
  const header = { type: "session", version: sessions.CURRENT_SESSION_VERSION, id: "made" };
  const manager = sessions.SessionManager.inMemory("/", undefined, [header, ...path]);
  manager.appendCompaction(done.summary, done.firstKeptEntryId, done.tokensBefore, done.details, false, done.usage);
  const after = manager.buildSessionProjection().messages;
  found.compaction = {
    requests: done.requests,
    summary: done.summary,
    messagesAfter: after.length,
    estimatedTokensAfter: sumTokens(after.filter((message) => message.role !== "system")),
  };
  return found;
}

async function branch({ file, from, to, budget }) {
  const entries = parsedEntries(file);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const view = { getBranch: (id) => branchTo(entries, byId.get(id)), getEntry: (id) => byId.get(id) };
  const left = branches.collectEntriesForBranchSummary(view, entries[from].id, entries[to].id);
  const { messages, fileOps, totalTokens } = branches.prepareBranchEntries(left.entries, budget);
  const transcript = texts.serializeConversation(convertToLlm(messages));
  return {
    commonAncestor: left.commonAncestorId === null ? null : entries.indexOf(byId.get(left.commonAncestorId)),
    entries: left.entries.length,
    messages: messages.length,
    tokens: totalTokens,
    ...texts.computeFileLists(fileOps),
    transcriptChars: transcript.length,
    transcriptSha256: sha256(transcript),
  };
}

// For each entry of Pi's tree the ids of its children: flat, for a session is thousands of entries deep.
function childrenIn(nodes) {
  const found = {};
  for (let waiting = [...nodes]; waiting.length > 0; ) {
    const { entry, children } = waiting.pop();
    found[entry.id] = children.map((child) => child.entry.id);
    waiting = waiting.concat(children);
  }
  return found;
}

function rebuilt(manager, keep) {
  const projection = manager.buildSessionProjection();
  const path = manager.getBranch();
  const preparation = compaction.prepareCompaction(path, { ...compaction.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: keep });
  const context = manager.buildSessionContext();
  return {
    sessionId: manager.getSessionId(),
    leafId: manager.getLeafId(),
    entries: manager.getEntries(),
    branch: path.map((entry) => entry.id),
    context: projection.entries.map(({ sourceEntry, messages }) => ({ id: sourceEntry.id, messages })),
    messages: context.messages,
    model: context.model,
    modelMessages: convertToLlm(context.messages),
    contextTokens: compaction.estimateProjectedContextTokens(projection, path).tokens,
    plan: preparation ? planFields(preparation, manager.getEntries()) : null,
    children: childrenIn(manager.getTree()),
  };
}

const operations = {
  answer,
  branch,
  branchSummary: async ({ file, from, to, window, reserve, reply, usage, keep }) => {
    const manager = sessions.SessionManager.open(file);
    manager.branch(from);
    const { entries } = branches.collectEntriesForBranchSummary(manager, from, to);
    const model = { id: "stub", provider: "stub", contextWindow: window };
    const options = { model, reserveTokens: reserve, streamFn: stubModel(reply, usage).stream };
    const { summary, readFiles = [], modifiedFiles = [], usage: spent } = await branches.generateBranchSummary(entries, options);
    manager.branchWithSummary(to, summary, { readFiles, modifiedFiles }, false, spent);
    return rebuilt(manager, keep);
  },
  open: async ({ file, keep }) => rebuilt(sessions.SessionManager.open(file), keep),
  continue: async ({ file, keep, text }) => {
    const manager = sessions.SessionManager.open(file);
    manager.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
    return rebuilt(manager, keep);
  },
  compact: async ({ file, keep, reply, usage }) => {
    const manager = sessions.SessionManager.open(file);
    const settings = { ...compaction.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: keep };
    const preparation = compaction.prepareCompaction(manager.getBranch(), settings);
    if (preparation) {
      const done = await runCompaction(preparation, reply, usage);
      const { summary, firstKeptEntryId, tokensBefore, details } = done;
      manager.appendCompaction(summary, firstKeptEntryId, tokensBefore, details, false, done.usage);
    }
    return rebuilt(manager, keep);
  },
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const job = JSON.parse(line);
  let result;
  try {
    result = await operations[job.op](job);
  } catch (error) {
    result = { error: String(error?.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
