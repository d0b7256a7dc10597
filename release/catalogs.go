package main

import (
	"bytes"
	"context"
	"embed"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templates embed.FS

// catalogs writes the entries by which others find the release: the MCP registry,
// Docker's catalog, Homebrew, Scoop and winget.
func (r *release) catalogs(context.Context) error {
	server, err := jsonOf(r.serverJSON())
	if err != nil {
		return err
	}
	scoop, err := jsonOf(r.scoop())
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"mcp-registry/server.json": server, "scoop/" + project + ".json": scoop} {
		if err := r.out.write(name, data); err != nil {
			return err
		}
	}
	for source, name := range map[string]string{
		"docker.yaml.tmpl": "docker-mcp-registry/server.yaml", "formula.rb.tmpl": "homebrew/" + project + ".rb",
		"winget.yaml.tmpl": "winget/" + wingetName + ".yaml", "winget.installer.yaml.tmpl": "winget/" + wingetName + ".installer.yaml",
		"winget.locale.yaml.tmpl": "winget/" + wingetName + ".locale.en-US.yaml",
	} {
		data, err := r.fill(source)
		if err != nil {
			return err
		}
		if err := r.out.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// fill fills a template in.
func (r *release) fill(source string) ([]byte, error) {
	t, err := template.New(source).Funcs(template.FuncMap{
		"sum":  func(p platform) string { return r.out.sums[r.version.archive(p)] },
		"url":  func(p platform) string { return r.version.download(r.version.archive(p)) },
		"base": func(p platform) string { return strings.TrimSuffix(r.version.archive(p), ".zip") },
		"of": func(system string) []platform {
			return slices.DeleteFunc(slices.Clone(r.platforms), func(p platform) bool { return p.os != system })
		},
		"cpu":   func(p platform) string { _, cpu := p.node(); return cpu },
		"upper": strings.ToUpper,
		"lower": strings.ToLower,
	}).ParseFS(templates, "templates/"+source)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Name": project, "Title": title, "Summary": summary, "Description": description,
		"Version": r.version, "Commit": r.commit, "Date": r.date.Format("2006-01-02"),
		"Homepage": homepage, "License": license, "Winget": wingetName, "Secrets": secrets(), "Brew": map[string]string{"darwin": "macos", "linux": "linux"},
	})
	return b.Bytes(), err
}

// serverJSON is the entry of the MCP registry, in its schema of 2025-12-11.
func (r *release) serverJSON() object {
	var env []object
	for _, s := range secrets() {
		env = append(env, object{"name": s.Variable, "description": s.Use, "isSecret": true, "isRequired": false})
	}
	stdio := object{"type": "stdio"}
	fixed := func(value string) object { return object{"type": "positional", "value": value} }
	folders := object{
		"type": "positional", "valueHint": "directory", "format": "filepath", "isRequired": true, "isRepeated": true,
		"description": "A folder that tools may read and write; commands run in the first one.",
	}
	serve := []object{fixed("serve"), {"type": "named", "name": "--stdio"}, folders}
	packages := []object{
		{
			"registryType": "npm", "identifier": npmName, "version": r.version, "runtimeHint": "npx", "transport": stdio,
			"packageArguments": serve, "environmentVariables": env,
		},
		{
			"registryType": "oci", "identifier": imageName + ":" + r.version, "runtimeHint": "docker", "transport": stdio,
			"environmentVariables": env, "runtimeArguments": []object{{
				"type": "named", "name": "--mount", "value": "type=bind,src={directory},dst=/data",
				"description": "The folder that tools may read and write.",
				"variables":   object{"directory": object{"description": "An absolute path", "format": "filepath", "isRequired": true}},
			}},
		},
	}
	for _, p := range r.platforms {
		packages = append(packages, object{
			"registryType": "mcpb", "identifier": r.version.download(r.version.bundle(p)), "fileSha256": r.out.sums[r.version.bundle(p)], "transport": stdio,
		})
	}
	return object{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    registryName, "title": title, "description": summary, "version": r.version, "websiteUrl": homepage,
		"repository": object{"url": homepage, "source": "github"}, "packages": packages,
	}
}

// scoop is the manifest of Scoop, a package manager of Windows.
func (r *release) scoop() object {
	found, update := object{}, object{}
	for _, p := range r.platforms {
		if p.os != "windows" {
			continue
		}
		bits := map[string]string{"amd64": "64bit", "arm64": "arm64"}[p.arch]
		archive := r.version.archive(p)
		found[bits] = object{"url": r.version.download(archive), "hash": r.out.sums[archive], "extract_dir": strings.TrimSuffix(archive, ".zip")}
		next := version("$version")
		update[bits] = object{"url": next.download(next.archive(p)), "extract_dir": strings.TrimSuffix(next.archive(p), ".zip")}
	}
	return object{
		"version": r.version, "description": summary, "homepage": homepage, "license": license, "architecture": found, "bin": project + ".exe",
		"checkver":   object{"github": homepage},
		"autoupdate": object{"architecture": update, "hash": object{"url": "$baseurl/checksums.txt"}},
	}
}
