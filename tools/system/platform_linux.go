package system

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func readPlatform() platform {
	p := uname()
	p.name = "Linux " + p.release
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if name := valueIn(path, "PRETTY_NAME", "="); name != "" {
			p.name = shellUnquote(name)
			break
		}
	}
	p.processor = valueIn("/proc/cpuinfo", "model name", ":") // ARM kernels name no model
	if p.processor == "" {
		p.processor = p.machine
	}
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err == nil {
		p.uptime = time.Duration(s.Uptime) * time.Second
	}
	return p
}

// maxFacts bounds how much of a file of facts is read. The lines wanted are
// near its start, while /proc/cpuinfo goes on for each processor.
const maxFacts = 64 << 10

// valueIn returns the first value of key in a file of lines that consist of
// key, separator and value, or "".
func valueIn(path, key, separator string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxFacts))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), separator)
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// shellUnquote takes the quotes off a value of os-release(5), which is written
// as shells read it.
func shellUnquote(s string) string {
	if unquoted, err := strconv.Unquote(s); err == nil && s[0] == '"' {
		return unquoted
	}
	return strings.Trim(s, `'"`)
}
