package app

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkRecord calls a tool that reads and one that writes, without and with a record.
func BenchmarkRecord(b *testing.B) {
	for _, tool := range []struct{ name, args string }{
		{"echo", `{"message":"hello"}`}, {"list_directory", `{"path":"."}`}, {"write_file", `{"path":"a.txt","content":"hello"}`},
	} {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s %t", tool.name, kept), func(b *testing.B) {
				a := served(b)
				if !kept {
					a.journal.record.Close()
					a.journal.log, a.exec.Begun = a.journal.plain, nil
				}
				line := fmt.Sprintf(`{"jsonrpc":"2.0","id":100000,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool.name, tool.args) + "\n"
				b.ReportAllocs()
				b.ResetTimer()
				if err := a.server.ServeStdio(b.Context(), a.User, &repeated{line: []byte(line), left: b.N}, io.Discard); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
