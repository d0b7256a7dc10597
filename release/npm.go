package main

import (
	"context"
	_ "embed"
	"strings"
)

//go:embed templates/toolserver.js
var launcher []byte

// npm writes the packages that npx runs: a main package with a launcher, and one per
// platform with the binary, of which npm installs the one that fits. None has a script
// that runs when it is installed. The main one is to be published last.
func (r *release) npm(context.Context) error {
	optional := object{}
	for _, p := range platforms() {
		system, cpu := p.node()
		optional[npmName+"-"+system+"-"+cpu] = r.version
	}
	for _, p := range r.platforms {
		system, cpu := p.node()
		binary, err := r.binary(p, "bin/"+p.program())
		if err != nil {
			return err
		}
		about := object{
			"name": npmName + "-" + system + "-" + cpu, "description": "The binary of " + npmName + " for " + system + " on " + cpu,
			"os": []string{system}, "cpu": []string{cpu}, "preferUnplugged": true, "files": []string{"bin"},
		}
		if err := r.npmPackage(about, binary); err != nil {
			return err
		}
	}
	readme, err := r.text("README.md")
	if err != nil {
		return err
	}
	return r.npmPackage(object{
		"name": npmName, "description": summary, "mcpName": registryName, "bin": object{project: "bin/toolserver.js"}, "files": []string{"bin"},
		"keywords": []string{"mcp", "model-context-protocol", "mcp-server"}, "optionalDependencies": optional,
	}, file{name: "bin/toolserver.js", mode: 0o755, data: launcher}, readme)
}

// npmPackage writes a package with what all of them have in common.
func (r *release) npmPackage(about object, files ...file) error {
	about["version"], about["license"], about["homepage"] = r.version, license, homepage
	about["repository"] = object{"type": "git", "url": "git+" + homepage + ".git"}
	about["bugs"] = homepage + "/issues"
	about["engines"] = object{"node": ">=18"}
	manifest, err := jsonOf(about)
	if err != nil {
		return err
	}
	legal, err := r.text("LICENSE")
	if err != nil {
		return err
	}
	files = append([]file{{name: "package.json", mode: 0o644, data: manifest}, legal}, files...)
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	data, err := tarGz(files, r.date)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(about["name"].(string), "@"), "/", "-")
	return r.out.write("npm/"+name+"-"+string(r.version)+".tgz", data)
}
