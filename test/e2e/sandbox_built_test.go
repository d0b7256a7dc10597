//go:build linux

package e2e

import (
	"os"
	"testing"
)

// What a tool chain builds, or installs in the working directory, starts in commands that
// start the tool chain, and in no others.
func TestBuiltPrograms(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.file("run.js", `const fs = require("fs"), cp = require("child_process");
for (const dir of ["node_modules", "target", process.env.TMPDIR]) {
	fs.mkdirSync(dir, {recursive: true});
	fs.copyFileSync("date", dir + "/built"); fs.chmodSync(dir + "/built", 0o755);
	const r = cp.spawnSync(dir + "/built", ["+ran"], {encoding: "utf8"});
	console.log(dir == process.env.TMPDIR ? "TMPDIR" : dir, r.error ? r.error.code : r.stdout.trim());
}
`, 0o644)
		date, err := os.ReadFile("/bin/date")
		must(t, err)
		g.file("date", string(date), 0o755)
		g.file("package.json", `{"name": "x", "scripts": {"test": "node run.js"}}`, 0o644)
		g.file("Makefile", "all:\n\t@npm --silent test\n", 0o644)
		b := g.open(setup{config: "tools:\n  bash: {allowed_commands: [node, 'npm test', make, ls, 'go vet']}\n"})
		defer b.stop()
		contain(t, "node", b.bash("node run.js").text, "node_modules EACCES", "target EACCES", "TMPDIR EACCES")
		contain(t, "npm", b.bash("npm test").text, "node_modules ran", "target EACCES", "TMPDIR EACCES")
		contain(t, "make", b.bash("make").text, "node_modules ran")
		contain(t, "node after npm", b.bash("ls; node run.js").text, "node_modules EACCES")
	})
}
