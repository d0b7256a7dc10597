package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/keyring"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/sandbox/programs"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/tools/google/calendar"
	"github.com/toolserver/toolserver/tools/prompts"
	"github.com/toolserver/toolserver/tools/resources"
	"github.com/toolserver/toolserver/tools/system"
	"github.com/toolserver/toolserver/upstream"
)

// A notation is how a text has to be written that a field with a tag format or keys holds. Its schema
// says what a JSON Schema can of that, and refuses nothing that check accepts.
type notation struct {
	check  func(text string) error // nil for keys, which others check
	schema func() json.RawMessage  // nil for none
}

// notations returns the notations by the tags format and keys. Their patterns mean the same
// to Go and to JavaScript, in which editors read them.
func (l *Loaded) notations() map[string]notation {
	const (
		name = `[^/@?# *]+`
		port = `([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]|[a-z][a-z0-9-]*)?`
		cidr = `([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)/[0-9]{1,3}(:[0-9]+)?`
	)
	return map[string]notation{
		"path":         {checkPath, noSlip(pathSlips, "")},
		"directory":    {checkDirectory, noSlip(pathSlips, `|(^|[^\\])[*?\[{]`)},
		"command":      {checkCommand, noSlip(commandSlips, "")},
		"option":       {checkOption, pattern(`^[^* \t\n]+$`)},
		"host":         {sandbox.CheckHostEntry, pattern(`^(\*|` + name + `)$`)},
		"private_host": {parses(netguard.ParseHost), pattern(`^(` + name + `|` + cidr + `)$`)},
		"reachable":    {checkReachable, pattern(`^((\*\.)?` + name + `|` + cidr + `)$`)},
		"recipient":    {sandbox.CheckRecipientEntry, pattern(`@(\*\.)?[^@* ]+$`)},
		"base_url":     {parses(httpcall.ParseBase), pattern(`^https?://[^@?#]+$`)},
		"stand_in":     {optional(httpcall.ParseBase), pattern(`^(https?://[^@?#]+)?$`)},
		"server_url":   {upstream.CheckURL, pattern(`^(https?://[^@#]+)?$`)},
		"public_url":   {checkPublicURL, pattern(`^(https?://[^@#?]+)?$`)},
		"issuer":       {identity.CheckIssuer, pattern(`^https?://[^@?#]+$`)},
		"issuer_url":   {identity.CheckURL, pattern(`^(https?://[^@#]+)?$`)},
		"prefix":       {parses(parsePrefix), pattern(`^[0-9a-fA-F.:]+(/[0-9]{1,3})?$`)},
		"key_id":       {keyring.CheckID, pattern(`^[a-zA-Z0-9-]{1,32}$`)},
		"store_url":    {store.CheckURL, pattern(`^((rediss?|valkeys?|unix)://[^#]+)?$`)},
		"uid_range":    {optional(parseUIDs), pattern(`^([0-9]+-[0-9]+)?$`)},
		"scope":        {identity.CheckScope, pattern(`^[!#-\[\]-~]+$`)},
		"algorithm": {func(text string) error {
			return known(text, "no tokens are accepted that are signed with", listed(identity.Algorithms()), identity.Algorithms())
		}, oneOf(identity.Algorithms)},
		"proxy":        {parses(netguard.ParseProxy), nil},
		"header":       {checkHeader, pattern(`^[\t -~]*$`)},
		"time_zone":    {optional(calendar.Zone), pattern(`^[A-Za-z0-9_+/-]*$`)},
		"listen":       {CheckAddress, pattern(`^(.*:` + port + `)?$`)},
		"endpoint":     {checkEndpoint, pattern(`^/[^?#]*$`)},
		"origin":       {checkOrigin, pattern(`^(null|[a-z][a-z0-9+.-]*://[^/*A-Z?# ]+)$`)},
		"host_name":    {checkHostName, pattern(`^` + name + `$`)},
		"glob":         {checkGlob, pattern(`^([^\[\\]|\\.|\[[^\]]+\])+$`)},
		"token_hash":   {nil, pattern(`^sha256:[0-9a-fA-F]{64}$`)}, // checked with the names of the tokens
		"level":        {l.checkLevel, nil},
		"system_field": {system.CheckField, oneOf(system.Fields)},
		"protected": {func(text string) error {
			return known(text, "nothing is protected as", "it must be a name as denials show it", sandbox.ProtectedNames())
		}, oneOf(sandbox.ProtectedNames)},
		"preset": {func(text string) error {
			return known(text, "there is no preset", listed(programs.Presets()), programs.Presets())
		}, oneOf(programs.Presets)},
		"resource": {nil, pattern(`^(` + strings.Join(resources.Names(), "|") + `)$|__`)},
		"prompt":   {nil, pattern(`^(` + strings.Join(prompts.Names(), "|") + `)$|__`)},
		"server":   {nil, pattern(upstream.ServerName)},
	}
}

// optional is [parses] of a text that may be empty: of what stands in for a service, it is the service itself then.
func optional[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return parses(parse)(text)
	}
}

func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// schema returns what makes a schema, which most programs do not need.
func schema(v func() map[string]any) func() json.RawMessage {
	return func() json.RawMessage {
		b, err := json.Marshal(v())
		if err != nil {
			panic(fmt.Sprintf("config: %v", err)) // texts can be encoded
		}
		return b
	}
}

func pattern(text string) func() json.RawMessage {
	return schema(func() map[string]any { return map[string]any{"pattern": text} })
}

func oneOf(words func() []string) func() json.RawMessage {
	return schema(func() map[string]any { return map[string]any{"enum": words()} })
}

// noSlip refuses slips, and what a further pattern matches.
func noSlip(slips func() []slip, more string) func() json.RawMessage {
	return schema(func() map[string]any {
		var forms []string
		for _, s := range slips() {
			forms = append(forms, s.form.String())
		}
		return map[string]any{"not": map[string]string{"pattern": strings.Join(forms, "|") + more}}
	})
}
