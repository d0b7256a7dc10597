//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const evil = "[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = \"touch WON; false\"\n"

// race plays one side: "mark" makes what git recognises a repository by and takes it away
// again, "config", "rename" and "hook" give it what runs programs. It says how often it did
// something, and which try won, if one did: then all of it is there at once.
func race(args []string) {
	if len(args) < 3 {
		fmt.Println("race SIDE DIRECTORY TRIES")
		return
	}
	dir := args[1]
	tries, _ := strconv.Atoi(args[2])
	at := func(name string) string { return filepath.Join(dir, name) }
	exists := func(name string) bool { _, err := os.Lstat(at(name)); return err == nil }
	won := func() bool {
		text, _ := os.ReadFile(at("config"))
		armed := strings.Contains(string(text), "fsmonitor") || exists("hooks/post-index-change")
		return armed && exists("objects") && exists("refs") && (exists("HEAD") || os.WriteFile(at("HEAD"), []byte("ref: refs/heads/main\n"), 0o644) == nil) &&
			(strings.Contains(string(text), "fsmonitor") || exists("hooks/post-index-change"))
	}
	done := 0
	count := func(err error) {
		if err == nil {
			done++
		}
	}
	_ = os.MkdirAll(dir, 0o755)
	for i := range tries {
		switch args[0] {
		case "mark":
			_ = os.Mkdir(at("objects"), 0o755)
			count(os.Mkdir(at("refs"), 0o755))
			if won() {
				fmt.Println("WON after", i)
				return
			}
			for _, name := range []string{"HEAD", "config", "hooks/post-index-change", "refs", "objects"} {
				_ = os.Remove(at(name))
			}
		case "config":
			f, err := os.OpenFile(at("config"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
			if count(err); err == nil {
				_, _ = f.WriteString(evil)
				f.Close()
			}
		case "rename":
			name := fmt.Sprintf("evil-%d", os.Getpid())
			_ = os.WriteFile(at(name), []byte(evil), 0o644)
			count(os.Rename(at(name), at("config")))
		case "hook":
			_ = os.Mkdir(at("x"), 0o755)
			f, err := os.OpenFile(at("x/post-index-change"), os.O_WRONLY|os.O_CREATE, 0o755)
			if count(err); err == nil {
				f.Close()
			}
			_ = os.Rename(at("x"), at("hooks"))
		}
		if exists("WON") {
			break
		}
	}
	fmt.Printf("%s: %d of %d\n", args[0], done, tries)
}
