package main

import (
	"context"
	"encoding/json"
	"strings"
)

// bundles writes what Claude Desktop and others install by a click. They name a
// system, but no processor: there is one for each.
func (r *release) bundles(ctx context.Context) error {
	text, err := r.print(ctx, "tools", "--json")
	if err != nil {
		return err
	}
	var offered struct {
		Tools []struct {
			Name  string `json:"name"`
			Title string `json:"title"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(text), &offered); err != nil {
		return err
	}
	var tools []object
	for _, t := range offered.Tools {
		tools = append(tools, object{"name": t.Name, "description": t.Title})
	}
	for _, p := range r.platforms {
		manifest, err := jsonOf(r.manifest(p, tools))
		if err != nil {
			return err
		}
		binary, err := r.binary(p, "server/"+p.program())
		if err != nil {
			return err
		}
		legal, err := r.text("LICENSE")
		if err != nil {
			return err
		}
		data, err := zipOf([]file{{name: "manifest.json", mode: 0o644, data: manifest}, legal, binary}, r.date)
		if err != nil {
			return err
		}
		if err := r.out.write(r.version.bundle(p), data); err != nil {
			return err
		}
	}
	return nil
}

// manifest describes a bundle. Hosts pass what people fill in: each folder as an
// argument of its own, and secrets, which are empty unless given, in the environment.
// A value without a default would arrive as the text ${user_config.NAME}.
func (r *release) manifest(p platform, tools []object) object {
	system, _ := p.node()
	env := object{"TOOLSERVER_CONFIG": "${user_config.config_file}"}
	form := object{
		"directories": object{
			"type": "directory", "title": "Folders", "multiple": true, "required": true,
			"description": "The folders that tools may read and write. The first one is where commands run.",
		},
		"config_file": object{
			"type": "file", "title": "Configuration file", "required": false, "default": "",
			"description": "A toolserver.yaml with the policy; leave it empty for the safe defaults.",
		},
	}
	for _, s := range secrets() {
		key := strings.ToLower(s.Variable)
		env[s.Variable] = "${user_config." + key + "}"
		form[key] = object{"type": "string", "title": s.Title, "description": s.Use, "sensitive": true, "required": false, "default": ""}
	}
	return object{
		"manifest_version": "0.3", "name": project, "display_name": title, "version": r.version,
		"description": summary, "long_description": description,
		"author": object{"name": "The toolserver authors", "url": homepage}, "license": license,
		"repository": object{"type": "git", "url": homepage + ".git"}, "homepage": homepage, "documentation": homepage + "#readme", "support": homepage + "/issues",
		"keywords": []string{"files", "shell", "web", "mcp"},
		"server": object{
			"type": "binary", "entry_point": "server/" + p.program(),
			"mcp_config": object{
				"command": "${__dirname}/server/" + p.program(),
				"args":    []string{"serve", "--stdio", "${user_config.directories}"},
				"env":     env,
			},
		},
		"tools": tools, "tools_generated": true,
		"compatibility": object{"platforms": []string{system}},
		"user_config":   form,
	}
}
