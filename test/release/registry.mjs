// Serves the npm packages of a directory as a registry does, and prints its address:
//
//   node registry.mjs DIRECTORY
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';

const directory = process.argv[2];
const packages = new Map();
for (const file of readdirSync(directory)) {
	const manifest = JSON.parse(execFileSync('tar', ['xzOf', join(directory, file), 'package/package.json']));
	packages.set(manifest.name, { manifest, file, data: readFileSync(join(directory, file)) });
}
const server = createServer((request, response) => {
	const path = decodeURIComponent(request.url.split('?')[0].slice(1));
	const archive = [...packages.values()].find((each) => path === `-/${each.file}`);
	if (archive) {
		response.end(archive.data);
		return;
	}
	const found = packages.get(path);
	if (!found) {
		response.writeHead(404).end('{}');
		return;
	}
	const { manifest, file, data } = found;
	const dist = {
		tarball: `http://127.0.0.1:${server.address().port}/-/${file}`,
		integrity: `sha512-${createHash('sha512').update(data).digest('base64')}`,
	};
	response.setHeader('content-type', 'application/json');
	response.end(JSON.stringify({
		name: manifest.name, 'dist-tags': { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist } },
	}));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
