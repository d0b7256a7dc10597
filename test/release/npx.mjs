// Runs the server by npx from a registry, as clients do:
//
//   node npx.mjs REGISTRY PACKAGE DIRECTORY
//
// It lists tools, ends npx by SIGTERM and by the end of its input, and looks for what is left.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';

const [registry, name, directory] = process.argv.slice(2);
const env = { PATH: process.env.PATH, HOME: directory, npm_config_registry: registry, npm_config_update_notifier: 'false' };
const args = ['-y', name, 'serve', '--stdio', directory];
const left = () => spawnSync('pgrep', ['-f', `toolserver serve --stdio ${directory}$`]).stdout.toString().trim();

async function gone(how) {
	for (let tries = 0; left() !== ''; tries++) {
		assert.ok(tries < 100, `after ${how}, processes are left: ${left()}`);
		await setTimeout(100);
	}
}

for (const how of ['the end of input', 'SIGTERM']) {
	const transport = new StdioClientTransport({ command: 'npx', args, env, stderr: 'inherit' });
	const client = new Client({ name: 'release-test', version: '1.0.0' });
	await client.connect(transport);
	assert.ok((await client.listTools()).tools.length > 10);
	assert.notEqual(left(), '');
	if (how === 'SIGTERM') {
		process.kill(transport.pid, 'SIGTERM');
		await gone(how);
	}
	await client.close();
	await gone(how);
}

const omitted = spawnSync('npx', ['-y', '--omit=optional', `--cache=${directory}/cache`, name, 'version'], { env: { ...env, HOME: `${directory}/other` }, encoding: 'utf8' });
assert.equal(omitted.status, 1, omitted.stderr);
assert.equal(omitted.stdout, '');
assert.match(omitted.stderr, new RegExp(`${name}-${process.platform}-${process.arch} is not installed.*--omit=optional`));
const wrong = spawnSync('npx', ['-y', name, 'no-such-command'], { env, encoding: 'utf8' });
assert.equal(wrong.status, 2, wrong.stderr);
assert.equal(wrong.stdout, '');
