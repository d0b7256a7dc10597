package config

import (
	"encoding/json"
	"regexp"
	"strings"

	"toolserver/sandbox"
	"toolserver/tools/prompts"
	"toolserver/tools/resources"
	"toolserver/tools/system"
	"toolserver/tools/upstream"
)

// notations returns what a JSON Schema can say of the texts that check looks at, by the
// tags format and keys. It refuses nothing that check accepts. The patterns mean the same
// to Go and to JavaScript, in which editors read them.
func notations() map[string]json.RawMessage {
	const (
		name = `[^/@?# *]+`
		port = `([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]|[a-z][a-z0-9-]*)?`
		cidr = `([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)/[0-9]{1,3}(:[0-9]+)?`
	)
	all := map[string]json.RawMessage{
		"path":         noSlip(pathSlips()),
		"directory":    noSlip(append(pathSlips(), slip{form: regexp.MustCompile(`(^|[^\\])[*?\[{]`)})),
		"command":      noSlip(commandSlips()),
		"protected":    oneOf(sandbox.ProtectedNames()),
		"preset":       oneOf(sandbox.Presets()),
		"system_field": oneOf(system.Fields()),
		"resource":     pattern(`^(` + strings.Join(resources.Names(), "|") + `)$|__`),
		"prompt":       pattern(`^(` + strings.Join(prompts.Names(), "|") + `)$|__`),
		"server":       pattern(upstream.ServerName),
	}
	for format, text := range map[string]string{
		"option":       `^[^* \t\n]+$`,
		"host":         `^(\*|` + name + `)$`,
		"private_host": `^(` + name + `|` + cidr + `)$`,
		"reachable":    `^((\*\.)?` + name + `|` + cidr + `)$`,
		"recipient":    `@(\*\.)?[^@* ]+$`,
		"base_url":     `^https?://[^@?#]+$`,
		"stand_in":     `^(https?://[^@?#]+)?$`,
		"server_url":   `^(https?://[^@#]+)?$`,
		"public_url":   `^(https?://[^@#?]+)?$`,
		"header":       `^[\t -~]*$`,
		"time_zone":    `^[A-Za-z0-9_+/-]*$`,
		"listen":       `^(.*:` + port + `)?$`,
		"endpoint":     `^/[^?#]*$`,
		"origin":       `^(null|[a-z][a-z0-9+.-]*://[^/*A-Z?# ]+)$`,
		"host_name":    `^` + name + `$`,
		"glob":         `^([^\[\\]|\\.|\[[^\]]+\])+$`,
		"token_hash":   `^sha256:[0-9a-fA-F]{64}$`,
	} {
		all[format] = pattern(text)
	}
	return all
}

func schema(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts can be encoded
	}
	return b
}

func pattern(text string) json.RawMessage { return schema(map[string]string{"pattern": text}) }

func oneOf(words []string) json.RawMessage { return schema(map[string][]string{"enum": words}) }

func noSlip(slips []slip) json.RawMessage {
	var forms []string
	for _, s := range slips {
		forms = append(forms, s.form.String())
	}
	return schema(map[string]any{"not": map[string]string{"pattern": strings.Join(forms, "|")}})
}
