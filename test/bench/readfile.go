package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sourceText is so many bytes of text as it is in source files: in JSON, some
// 7 % of its characters are escaped.
func sourceText(size int) string {
	const line = "\tif err := write(w, \"name\", value); err != nil { return err }\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// measureReadFile compares how servers read a file of 4 KiB.
func measureReadFile(ctx context.Context, l *lab) error {
	dir, err := l.dir("readfile")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "source.go")
	if err := os.WriteFile(file, []byte(sourceText(4<<10)), 0o644); err != nil {
		return err
	}
	npm, missing := l.npmPeers(ctx)
	path := fmt.Sprintf(`{"path":%q}`, file)
	all := []contender{l.ours("toolserver", dir, call("read_file", path))}
	all = append(all, contender{name: "mark3labs filesystem", argv: []string{l.program("markfiles"), dir}, req: call("read_file", path)})
	if missing == nil {
		all = append(all, contender{
			name: "npm server-filesystem", argv: []string{"node", filepath.Join(npm, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), dir},
			warmUp: nodeWarmUp, req: call("read_text_file", path),
		})
	}
	inFlight := []int{1, 8}
	results, err := l.contest(ctx, dir, inFlight, all, func(name string, answer []byte) error {
		if !bytes.Contains(answer, []byte(`{ return err }\n\tif err := write(w, \"name\"`)) {
			return fmt.Errorf("%s does not answer with the file but %.300s", name, answer)
		}
		return nil
	})
	for i, c := range results {
		bars := append([]bar{atMost("CPU", c.median("toolserver", cpu), float64(40*time.Microsecond), nanos)}, lowest(c, "toolserver")...)
		l.table.add(fmt.Sprintf("read_file 4 KiB, %d in flight", inFlight[i]), c, bars...)
	}
	if missing != nil {
		err = errors.Join(err, fmt.Errorf("npm's server-filesystem is missing: %w", missing))
	}
	return err
}
