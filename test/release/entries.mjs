// Judges the entries of catalogs and the bundle of a release:
//
//   node entries.mjs RELEASE VERSION SCHEMA UNPACKED
//
// SCHEMA is the registry's, UNPACKED the bundle of this machine. What the schema and the
// registry do not notice is checked here.
import { getMcpConfigForManifest, hasRequiredConfigMissing } from '@anthropic-ai/mcpb';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const [release, version, schema, unpacked] = process.argv.slice(2);
const json = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
const text = (...path) => readFileSync(join(release, ...path), 'utf8');
const sum = (file) => createHash('sha256').update(readFileSync(join(release, file))).digest('hex');

const ajv = addFormats(new Ajv({ strict: false }));
const server = json(release, 'mcp-registry', 'server.json');
assert.ok(ajv.validate(json(schema), server), JSON.stringify(ajv.errors));
assert.equal(server.version, version);
for (const entry of server.packages) {
	const { registryType, identifier } = entry;
	assert.equal(entry.version, registryType === 'npm' ? version : undefined, `the version of ${identifier}`);
	if (registryType === 'mcpb') {
		assert.equal(entry.fileSha256, sum(basename(identifier)), identifier);
	}
}
const npm = JSON.parse(execFileSync('tar', ['xzOf', join(release, 'npm', `toolserver-toolserver-${version}.tgz`), 'package/package.json']));
assert.equal(npm.mcpName, server.name);
assert.equal(npm.version, version);
assert.ok(server.packages.some((entry) => entry.identifier === npm.name));
assert.ok(!npm.scripts, 'a package runs a script when it is installed');

const scoop = json(release, 'scoop', 'toolserver.json');
for (const { url, hash } of Object.values(scoop.architecture)) {
	assert.equal(hash, sum(basename(url)));
}
for (const [kind, file] of [['homebrew', 'toolserver.rb'], ['winget', 'Toolserver.Toolserver.installer.yaml']]) {
	const links = [...text(kind, file).matchAll(/(https:\S+?\.(?:zip|tar\.gz))"?\s+\S+ "?([0-9a-fA-F]{64})/g)];
	assert.ok(links.length > 0, file);
	for (const [, url, hash] of links) {
		assert.equal(hash.toLowerCase(), sum(basename(url)), url);
	}
}

// What a person fills in reaches the server: folders with spaces, a key with a dollar, and no keys.
const manifest = json(unpacked, 'manifest.json');
assert.equal(manifest.version, version);
const home = mkdtempSync(join(unpacked, 'home-'));
const folders = [join(home, 'first folder'), join(home, 'second folder')];
folders.forEach((folder) => mkdirSync(folder));
const resolve = (userConfig) => getMcpConfigForManifest({
	manifest, extensionPath: unpacked, systemDirs: { HOME: home }, userConfig, pathSeparator: '/',
});
assert.ok(hasRequiredConfigMissing({ manifest, userConfig: {} }), 'folders are optional');
for (const keys of [{}, { brave_api_key: 'a$1b' }]) {
	const config = await resolve({ directories: folders, ...keys });
	assert.deepEqual(config.args.slice(-2), folders);
	assert.equal(config.env.BRAVE_API_KEY, keys.brave_api_key ?? '');
	assert.ok(!JSON.stringify(config).includes('${'), JSON.stringify(config));
	const client = new Client({ name: 'release-test', version: '1.0.0' });
	await client.connect(new StdioClientTransport({ command: config.command, args: config.args, env: { HOME: home, PATH: process.env.PATH, ...config.env }, cwd: '/' }));
	const names = (await client.listTools()).tools.map((tool) => tool.name);
	assert.equal(names.includes('web_search'), 'brave_api_key' in keys);
	assert.deepEqual(manifest.tools.map((tool) => tool.name).filter((name) => !names.includes(name)), [], 'the manifest names tools that are not there');
	const written = await client.callTool({ name: 'write_file', arguments: { path: join(folders[1], 'a b.txt'), content: 'hello' } });
	assert.ok(!written.isError, JSON.stringify(written));
	await client.close();
}
