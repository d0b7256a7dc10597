// The page of what clients do: docs/clients/behaviour.md.

const code = (text) => `\`${text}\``;
const list = (set) => [...set].sort().map(code).join(' ') || 'none';

/** The rows of what a client sends, from the notes of a turn. */
export function sent(notes) {
  const client = notes.filter(({ from, message }) => from === 'client' && message);
  const requests = client.filter(({ message }) => message.method);
  const first = requests[0].message;
  const initialize = requests.find(({ message }) => message.method === 'initialize')?.message.params;
  const key = (name) => `io.modelcontextprotocol/${name}`;
  const call = requests.find(({ message }) => message.method === 'tools/call');
  const meta = call.message.params._meta ?? {};
  const { extensions: declared = {}, ...rest } = initialize?.capabilities ?? first.params._meta[key('clientCapabilities')];
  const extensions = (all) => (Object.keys(all).length ? Object.entries(all).map(([name, value]) => code(`${name}: ${JSON.stringify(value)}`)).join(' ') : 'none');
  const ours = Object.keys(meta).filter((name) => !['protocolVersion', 'clientCapabilities', 'clientInfo'].map(key).includes(name));
  const standard = new Set(['host', 'connection', 'content-length', 'content-type', 'authorization', 'accept-encoding', 'accept-language', 'sec-fetch-mode', 'transfer-encoding', 'user-agent', 'accept']);
  const usual = (info) => Object.entries(info).filter(([name]) => !standard.has(name)).map(([name]) => name);
  return {
    'Protocol version': meta[key('protocolVersion')] ?? initialize.protocolVersion,
    'First message': code(first.method),
    'Its name': code((meta[key('clientInfo')] ?? initialize.clientInfo).name),
    'Capabilities': code(JSON.stringify(rest)),
    'Extensions': extensions(declared),
    ...(meta[key('clientCapabilities')] && { 'Extensions, in a call': extensions(meta[key('clientCapabilities')].extensions ?? {}) }),
    'Other requests and notifications': list(new Set(requests.map(({ message }) => message.method).filter((method) => !['tools/call', 'initialize', 'notifications/initialized'].includes(method)))),
    '`_meta` of a call': list(new Set(ours)),
    ...(call.headers && {
      'Headers of a call, besides the usual': list(new Set(usual(call.headers))),
      'Stream of notifications': notes.some(({ from, method }) => from === 'client' && method === 'GET') ? 'GET' : requests.some(({ message }) => message.method === 'subscriptions/listen') ? '`subscriptions/listen`' : 'none',
      'At its end': notes.some(({ from, method }) => from === 'client' && method === 'DELETE') ? 'DELETE' : 'nothing',
    }),
    ...(!call.headers && { 'Ends the server by': notes.some(({ signal }) => signal) ? notes.find(({ signal }) => signal).signal : 'end of input' }),
  };
}

// How a client ends, which the test does for those that last.
const ENDS = ['Ends the server by', 'At its end'];

/** The page, for [{name, version, lasts, results: [{transport, kind, cells, notes}]}]. */
export function page(clients) {
  const columns = clients.map(({ lasts, results }) => {
    const rows = { sent: {}, shown: {} };
    const put = (part, row, transport, cell) => { if (cell !== undefined) (rows[part][row] ??= new Map()).set(transport, cell); };
    for (const transport of ['stdio', 'HTTP']) {
      for (const kind of ['main', 'long', 'cut', 'own', 'tasks']) {
        for (const { cells, notes } of results.filter((r) => r.kind === kind && r.transport === transport)) {
          if (kind === 'tasks') put('sent', 'Requests about tasks', transport, list(new Set(notes.map(({ from, message }) => from === 'client' && message?.method).filter((method) => method && method.startsWith('tasks/')))));
          if (kind === 'main') for (const [row, cell] of Object.entries(sent(notes))) if (!lasts || !ENDS.includes(row)) put('sent', row, transport, cell);
          for (const [row, cell] of Object.entries(cells)) put('shown', row, transport, cell);
        }
      }
    }
    return rows;
  });
  const cell = (got) => {
    const all = new Set(got?.values());
    if (all.size < 2) return [...all][0] ?? '';
    return [...got].map(([transport, text]) => `${transport}: ${text}`).join('<br>');
  };
  const section = (part) => {
    const rows = [...new Set(columns.flatMap((column) => Object.keys(column[part])))];
    return rows.map((row) => {
      const same = new Map();
      clients.forEach(({ name }, i) => {
        const text = cell(columns[i][part][row]);
        if (text) same.set(text, [...(same.get(text) ?? []), name]);
      });
      return `**${row}**\n\n| client | |\n|---|---|\n${[...same].map(([text, names]) => `| ${names.length === clients.length ? 'all' : names.join('<br>')} | ${text} |`).join('\n')}\n`;
    }).join('\n');
  };
  return `# What clients do

Real clients take turns with this server, over stdio and HTTP, for a model that is a script. This page is what they send and what they
show the model; \`test/clients/run\` fails when something differs. \`…\` stands for the text that the server has sent, \`DATA\` for its structured
content or the data of its error, \`⏎\` for the end of a line.

| client | package | version |
|---|---|---|
${clients.map(({ name, version }) => `| ${name} | ${PACKAGES.find(([start]) => name.startsWith(start))[1]} | ${version} |`).join('\n')}

All run without a person: \`claude -p\`, \`codex exec\`, \`gemini -p\`, \`opencode run\`. Claude Code runs at a terminal, too,
where a hook answers questions of the server, and Enter permits the calls about which Claude Code itself asks. There it takes
[tasks](../protocol.md#tasks). Codex speaks 2026-07-28 with its feature \`mcp_2026_07_28\` and, on stdio,
\`CODEX_MCP_PROTOCOL_VERSION\` in the environment of the server. Its model is one that it does not know.

## What they send

${section('sent')}
## What they show the model

${section('shown')}`;
}

const PACKAGES = [['Claude', '`@anthropic-ai/claude-code`'], ['Codex', '`@openai/codex`'], ['Gemini', '`@google/gemini-cli`'], ['opencode', '`opencode-ai`']];
