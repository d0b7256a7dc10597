// The clients, an entry each: the wire format of its models, what it calls a tool, a call of its own that takes a second, how it is
// told of a model and a server, and how it is run.
//
// prepare writes the client's files into a home directory of its own and returns {file, args, env, cwd} of a process that
// takes one turn without a person, and then ends unless the client lasts. An entry is {command, args} or {url, token}; callMs is how long the client is told to wait for
// a call, where it is told; elicit is what it is to answer questions with, where something can stand for the person.

import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const readers = (name) => join(import.meta.dirname, '../readers/node_modules', name);
const versionOf = (file) => require(file).version;

const PROMPT = 'Do what the script says.';

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text));
}

const claudeFile = require.resolve(`@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`);

// Runs a program at a terminal, which ends with it. What comes from standard input is typed there.
const TERMINAL = 'import pty, sys; sys.exit(pty.spawn(["setpriv", "--pdeathsig", "KILL", *sys.argv[1:]]))';

const claude = ({ terminal = false } = {}) => ({
  version: versionOf(claudeFile),
  wire: 'messages',
  name: (tool) => `mcp__ts__${tool}`,
  pause: { name: 'Bash', input: { command: 'sleep 1', description: 'wait' } },
  lasts: terminal,
  tasks: terminal,
  prepare({ home, work, model, entry, callMs, elicit }) {
    const key = 'sk-ant-none';
    write(join(home, 'mcp.json'), {
      mcpServers: { ts: entry.url ? { type: 'http', url: entry.url, headers: { Authorization: `Bearer ${entry.token}` } } : { type: 'stdio', ...entry } },
    });
    write(join(home, '.claude.json'), {
      hasCompletedOnboarding: true, theme: 'dark', customApiKeyResponses: { approved: [key], rejected: [] },
      projects: { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    });
    if (elicit || terminal) { // a hook stands for the person, who opens no address
      const answer = (value) => `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: 'Elicitation', ...value } })}'`;
      const command = `if grep -q '"mode":"url"'; then ${answer({ action: 'cancel' })}; else ${answer(elicit || { action: 'decline' })}; fi`;
      const permit = `touch '${join(home, 'permitted')}'; echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } })}'`;
      write(join(home, 'settings.json'), {
        hooks: {
          Elicitation: [{ matcher: '', hooks: [{ type: 'command', command }] }],
          PermissionRequest: [{ matcher: 'mcp__ts__.*', hooks: [{ type: 'command', command: permit }] }],
        },
      });
    }
    const program = join(dirname(claudeFile), 'claude');
    const options = ['--mcp-config', join(home, 'mcp.json'), '--strict-mcp-config', '--allowedTools', 'mcp__ts', 'Bash'];
    return {
      ...(terminal
        ? { file: 'python3', args: ['-c', TERMINAL, program, '--permission-mode', 'default', ...options, '--', PROMPT] }
        : { file: program, args: ['-p', PROMPT, ...options] }),
      cwd: work,
      env: {
        CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: key, ENABLE_TOOL_SEARCH: 'false',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', MCP_CONNECTION_NONBLOCKING: 'false',
        ...(callMs && { MCP_TOOL_TIMEOUT: `${callMs}` }), ...(terminal && { TERM: 'xterm-256color', COLUMNS: '120', LINES: '40' }),
      },
    };
  },
});

const codex = (modern) => ({
  version: versionOf(readers('@openai/codex/package.json')),
  wire: 'responses',
  name: (tool) => tool,
  pause: { name: 'exec_command', input: { cmd: 'sleep 1' } },
  space: 'mcp__ts',
  prepare({ home, work, model, entry, callMs, elicit }) {
    const toml = JSON.stringify; // strings and lists of strings are the same
    write(join(home, 'config.toml'), `
model = "script"
model_provider = "script"
approval_policy = "never"
${elicit ? 'sandbox_mode = "danger-full-access"' : ''}
check_for_update_on_startup = false
[model_providers.script]
name = "script"
base_url = ${toml(`${model}/v1`)}
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[features]
mcp_2026_07_28 = ${modern}
mcp_tool_list_changed = ${modern}
[projects.${toml(work)}]
trust_level = "trusted"
[mcp_servers.ts]
${entry.url ? `url = ${toml(entry.url)}\nbearer_token_env_var = "TOKEN"` : `command = ${toml(entry.command)}\nargs = ${toml(entry.args)}`}
startup_timeout_sec = 60
default_tools_approval_mode = "approve"
${callMs ? `tool_timeout_sec = ${callMs / 1000}` : ''}
${modern && !entry.url ? 'env = { CODEX_MCP_PROTOCOL_VERSION = "2026-07-28" }' : ''}
`);
    return {
      file: process.execPath, args: [readers('@openai/codex/bin/codex.js'), 'exec', '--skip-git-repo-check', PROMPT], cwd: work,
      env: { CODEX_HOME: home, ...(entry.token && { TOKEN: entry.token }) },
    };
  },
});

const gemini = {
  version: versionOf(readers('@google/gemini-cli/package.json')),
  wire: 'content',
  name: (tool) => `mcp_ts_${tool}`,
  pause: { name: 'run_shell_command', input: { command: 'sleep 1' } },
  prepare({ home, work, model, entry, callMs }) {
    write(join(home, '.gemini/settings.json'), {
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { disableAutoUpdate: true, enableAutoUpdate: false }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
      mcpServers: {
        ts: {
          ...(entry.url ? { httpUrl: entry.url, headers: { Authorization: `Bearer ${entry.token}` } } : entry), trust: true,
          ...(callMs && { timeout: callMs }),
        },
      },
    });
    return {
      file: process.execPath, args: [readers('@google/gemini-cli/bundle/gemini.js'), '--approval-mode', 'yolo', '--model', 'gemini-2.5-pro', '-p', PROMPT], cwd: work,
      env: { GEMINI_CLI_HOME: home, GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
    };
  },
};

const opencode = {
  version: versionOf(readers('opencode-linux-x64/package.json')),
  wire: 'completions',
  name: (tool) => `ts_${tool}`,
  pause: { name: 'bash', input: { command: 'sleep 1', description: 'wait' } },
  prepare({ home, work, model, entry, callMs }) {
    write(join(home, 'opencode.json'), {
      autoupdate: false, share: 'disabled', model: 'script/script', small_model: 'script/script',
      provider: {
        script: {
          npm: '@ai-sdk/openai-compatible', name: 'script', options: { baseURL: `${model}/v1`, apiKey: 'none' },
          models: { script: { name: 'script', tool_call: true, attachment: true, modalities: { input: ['text', 'image'], output: ['text'] }, limit: { context: 1_000_000, output: 10_000 } } },
        },
      },
      permission: 'allow',
      mcp: {
        ts: {
          ...(entry.url ? { type: 'remote', url: entry.url, headers: { Authorization: `Bearer ${entry.token}` }, oauth: false } : { type: 'local', command: [entry.command, ...entry.args] }),
          ...(callMs && { timeout: callMs }),
        },
      },
    });
    return {
      file: readers('opencode-linux-x64/bin/opencode'), args: ['run', PROMPT], cwd: work,
      env: {
        OPENCODE_CONFIG: join(home, 'opencode.json'), OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_SHARE: '1', XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state'), XDG_CACHE_HOME: join(home, 'cache'),
      },
    };
  },
};

export const CLIENTS = {
  'Claude Code': claude(), 'Claude Code at a terminal': claude({ terminal: true }), Codex: codex(false), 'Codex with 2026-07-28': codex(true), 'Gemini CLI': gemini, opencode,
};
