package yamlconf_test

import (
	"strings"
	"testing"
)

// TestLargeInputs would not end in time if anything took more than about linear
// time in the size of the file.
func TestLargeInputs(t *testing.T) {
	const size = 1 << 17
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (size-len(before)-len(after))/len(unit)) + after
	}
	for name, test := range map[string]struct {
		in   string
		want string // part of the error; "" for none
	}{
		"comments":        {fill("", "#\n", ""), ""},
		"blank lines":     {fill("", "\n", ""), ""},
		"long text":       {fill("labels: {a: \"", "x", "\"}"), ""},
		"references":      {fill("labels: {a: \"", "${HOST}", "\"}"), ""},
		"escapes":         {fill("labels: {a: \"", "$${", "\"}"), ""},
		"open reference":  {fill("labels: {a: \"", "${", "\"}"), "has no closing }"},
		"long reference":  {fill("labels: {a: \"${", "X", "}\"}"), "is not set"},
		"long name":       {fill("server: {name: ", "x", "}"), "must have at most 20 characters"},
		"long key":        {fill("? ", "x", "\n: 1"), "unknown key"},
		"long map key":    {fill("env: {? ", "x", " : [1]}"), "must be text"},
		"many items":      {"tools: {bash: {allowed_commands: [" + strings.Repeat("a,", 250_000) + "]}}", "more than 250000 values"},
		"many wrong":      {fill("tools: {bash: {allowed_commands: [", "1,", "]}}"), "must be text"},
		"many unknown":    {fill("server:\n  tokens:", "\n  - aaaaaaaaaaaaaaaa: 1", ""), "unknown key"},
		"same key":        {fill("labels:", "\n  a: 1", ""), "duplicate key"},
		"deep list":       {fill("", "[", ""), "depth"},
		"deep mapping":    {fill("", "{a: ", ""), "invalid YAML"},
		"deep dashes":     {fill("", "- ", ""), "depth"},
		"question marks":  {fill("", "? ", ""), "depth"},
		"open quote":      {fill("a: \"", "\n", ""), "not closed"},
		"unknown alias":   {fill("a: *", "x", ""), "no anchor"},
		"many secrets":    {fill("env: {a: \"", "${TOKEN_VALUE}", "\"}"), ""},
		"bad number":      {fill("server: {port: ", "9", "}"), "must be a whole number"},
		"bad duration":    {fill("tools: {bash: {timeout: ", "1h", "}}"), "must be"},
		"bad network":     {fill("prefixes: [", "1", "]"), "prefixes[0]"},
		"long path":       {fill("working_directory: ", "../", ""), ""},
		"flow comments":   {fill("labels: {\n", "#x\n", "}"), ""},
		"nested sequence": {fill("labels:\n", " - a\n", ""), "labels must be a mapping"},
	} {
		_, _, err := decode(test.in)
		switch {
		case test.want == "" && err != nil, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %.300v; want %q", name, err, test.want)
		case err != nil && len(err.Error()) > 20_000:
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}
