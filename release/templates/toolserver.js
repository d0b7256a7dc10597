#!/usr/bin/env node
// Starts the binary of this platform. Standard output belongs to the protocol, so
// this file never writes to it.
'use strict';
const { spawn } = require('node:child_process');
const { name, version, optionalDependencies } = require('../package.json');

function fail(message) {
	process.stderr.write(`toolserver: ${message}\n`);
	process.exit(1);
}

const fitting = `${name}-${process.platform}-${process.arch}`;
if (!(fitting in optionalDependencies)) {
	fail(`there is no binary for ${process.platform} on ${process.arch}; there are: ${Object.keys(optionalDependencies).join(', ')}`);
}
let binary;
try {
	binary = require.resolve(`${fitting}/bin/toolserver${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
	fail(`the package ${fitting} is not installed. npm leaves it out with --omit=optional, with omit=optional in .npmrc, and with a lock file `
		+ `made on another system. Install without these, or add it: npm install ${fitting}@${version}`);
}

const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit', windowsHide: true });
child.on('error', (error) => fail(`cannot start ${binary}: ${error.message}`));
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
	// A terminal sends SIGINT and SIGHUP to the child, too, and a second one would end it at once.
	process.on(signal, () => (signal === 'SIGTERM' || !process.stdin.isTTY) && child.kill(signal));
}
child.on('exit', (code, signal) => {
	if (signal === null) {
		process.exit(code);
	}
	process.removeAllListeners(signal);
	process.kill(process.pid, signal);
});
