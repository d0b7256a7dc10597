package schema

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

type editInput struct {
	Path   string `json:"path" min:"1" max:"4096"`
	Edits  []edit `json:"edits" min:"1" max:"200"`
	DryRun bool   `json:"dry_run" default:"false"`
}

type edit struct {
	OldText    string `json:"old_text" min:"1"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all" default:"false"`
}

func unknownNames(size int) []byte {
	b := []byte(`{"path":"a"`)
	for i := 0; len(b) < size; i++ {
		b = append(strconv.AppendInt(append(b, `,"n`...), int64(i), 10), `":1`...)
	}
	return append(b, '}')
}

func badElements(size int) []byte {
	return []byte(`{"path":"a","edits":[1` + strings.Repeat(",10", size/3) + `]}`)
}

func BenchmarkArguments(b *testing.B) {
	text, err := json.Marshal(strings.Repeat("line of text\n", 64<<10/13))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		schema *Input
		args   []byte
	}{
		{"valid", Of[editInput](), []byte(`{"path":"a.go","edits":[{"old_text":"a","new_text":"b"},{"old_text":"c","new_text":"d"}]}`)},
		{"text", Of[editInput](), []byte(`{"path":"a.go","edits":[{"old_text":"a","new_text":` + string(text) + `}]}`)},
		{"names", Of[editInput](), unknownNames(1 << 20)},
		{"elements", Of[editInput](), badElements(1 << 20)},
		{"namesMax", Of[editInput](), unknownNames(5 << 20)},
		{"elementsMax", Of[editInput](), badElements(900_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.schema.Arguments(c.args)
			}
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(c.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
