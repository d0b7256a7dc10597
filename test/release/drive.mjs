// Starts a server over stdio, lists its tools and calls each of them:
//
//   node drive.mjs [--without NAME,...] [--uncalled NAME,...] COMMAND [ARGUMENTS]
//
// It fails if a tool fails, if one is listed that has no call here, or one that must
// not be there.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

// In this order, since some need what others made.
const calls = {
	echo: { message: 'hello' },
	create_directory: { path: 'made' },
	write_file: { path: 'made/a.txt', content: 'one\n' },
	append_file: { path: 'made/a.txt', content: 'two\n' },
	edit_file: { path: 'made/a.txt', edits: [{ old_text: 'two', new_text: 'three' }] },
	read_file: { path: 'made/a.txt' },
	copy_file: { source: 'made/a.txt', destination: 'made/b.txt' },
	move_file: { source: 'made/b.txt', destination: 'made/c.txt' },
	list_directory: { path: 'made' },
	search_files: { pattern: '*.txt' },
	grep: { pattern: 'three' },
	execute_command: { command: 'git --version && rg --version >$TMPDIR/out' },
	bash: { command: '[[ $(rg -c three made/a.txt) = 1 ]]' },
	bash_jobs: {},
	system_info: {},
	disk_info: {},
	network_info: {},
	capabilities_refresh: {},
};
// These need a network, or a result that was too long.
const uncalled = ['web_fetch', 'linkedin_jobs', 'linkedin_job_detail', 'read_large_result'];

const args = process.argv.slice(2);
const option = (name) => (args[0] === name ? args.splice(0, 2)[1].split(',') : []);
const without = option('--without');
const skipped = option('--uncalled');
const client = new Client({ name: 'release-test', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: args[0], args: args.slice(1), env: process.env, stderr: 'inherit' }));
const listed = (await client.listTools()).tools.map((tool) => tool.name);
const failures = [];
for (const name of listed) {
	if (without.includes(name)) {
		failures.push(`${name} is listed, but cannot work`);
	} else if (!(name in calls) && !uncalled.includes(name)) {
		failures.push(`${name} is listed, and no call is known for it`);
	}
}
for (const [name, given] of Object.entries(calls)) {
	if (without.includes(name) || skipped.includes(name)) {
		continue;
	}
	try {
		const answer = await client.callTool({ name, arguments: given });
		if (answer.isError) {
			failures.push(`${name}: ${answer.content.map((block) => block.text).join(' ')}`);
		}
	} catch (error) {
		failures.push(`${name}: ${error.message}`);
	}
}
await client.close();
for (const failure of failures) {
	console.error(failure);
}
console.log(`${listed.length} tools, ${failures.length} failures`);
process.exit(failures.length > 0 ? 1 : 0);
