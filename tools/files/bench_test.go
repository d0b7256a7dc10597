package files_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/fakes/walktest"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

func benchmark(b *testing.B, w bench, tool, args string) {
	exec := tooltest.Executor(b, w.tools[tool])
	cmd := call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args)}
	b.ReportAllocs()
	before := walktest.CPUTime()
	for b.Loop() {
		exec.Start(b.Context(), cmd, func(res domain.ToolResult, err error) {
			if err != nil || res.IsError {
				b.Fatal(err, tooltest.Text(res))
			}
		})
	}
	b.ReportMetric(float64((walktest.CPUTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkReadFile reads a file of 4 KiB through the executor.
func BenchmarkReadFile(b *testing.B) {
	w := newBench(b, declare.From[files.Options]{}, nil)
	w.put(b, "f.txt", strings.Repeat("a line of some forty characters or more\n", 103)[:4096], "large.txt", strings.Repeat("a line of text\n", 100_000))
	b.Run("4KiB", func(b *testing.B) { benchmark(b, w, "read_file", `{"path":"f.txt"}`) })
	b.Run("lines", func(b *testing.B) { benchmark(b, w, "read_file", `{"path":"f.txt","offset":10,"limit":10}`) })
	b.Run("window", func(b *testing.B) { benchmark(b, w, "read_file", `{"path":"large.txt"}`) })
}

// BenchmarkTree walks and searches a tree of 5,000 files.
func BenchmarkTree(b *testing.B) {
	w := newBench(b, declare.From[files.Options]{}, nil)
	if err := walktest.Build(w.dir, 5000); err != nil {
		b.Fatal(err)
	}
	b.Run("search_files", func(b *testing.B) { benchmark(b, w, "search_files", `{"pattern":"**/*.go","max_results":10000}`) })
	b.Run("grep", func(b *testing.B) { benchmark(b, w, "grep", `{"pattern":"needleLiteral"}`) })
	b.Run("grep_files", func(b *testing.B) { benchmark(b, w, "grep", `{"pattern":"[0-9]{4}-[0-9]{2}","mode":"files"}`) })
}

// BenchmarkListDirectory lists a directory of 200 files.
func BenchmarkListDirectory(b *testing.B) {
	w := newBench(b, declare.From[files.Options]{}, nil)
	for i := range 200 {
		w.put(b, fmt.Sprintf("file%03d.txt", i), "text")
	}
	benchmark(b, w, "list_directory", `{}`)
}
