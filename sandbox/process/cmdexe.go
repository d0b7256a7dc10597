package process

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// A program on Windows gets one text, which it divides into arguments itself. Programs in C
// and Go divide it alike; cmd.exe, which runs texts and batch files, takes it for a command
// and reads it again.

// textLine returns the command line by which cmd.exe runs a text: with /S it takes off the
// outer quotes and nothing else.
func textLine(cmdExe, text string) (string, error) {
	text = strings.TrimRight(text, "\r\n")
	if strings.ContainsAny(text, "\r\n") {
		return "", errors.New("it has several lines, of which cmd.exe would run the first only: join them with & or &&, or put them into a batch file")
	}
	return `"` + cmdExe + `" /D /S /C "` + text + `"`, nil
}

// isBatch reports whether cmd.exe runs a file, when asked to run it as a program.
func isBatch(file string) bool {
	switch strings.ToLower(path.Ext(strings.TrimRight(strings.ReplaceAll(file, `\`, "/"), " ."))) {
	case ".bat", ".cmd":
		return true
	}
	return false
}

// live are what cmd.exe acts on, some even between quotes and some once a batch file has
// taken the quotes off: no way to write them is right for all batch files.
const live = "&|<>^%!\"\r\n"

// batchLine returns the command line by which cmd.exe runs a batch file.
func batchLine(cmdExe, file string, args []string) (string, error) {
	var line strings.Builder
	fmt.Fprintf(&line, `"%s" /D /V:OFF /S /C "`, cmdExe)
	for i, arg := range append([]string{file}, args...) {
		if at := strings.IndexAny(arg, live); at >= 0 {
			return "", fmt.Errorf("it is a batch file, and %q in %.100q means something to cmd.exe, which runs those: "+
				"start the program that it starts, such as node with a script", arg[at], arg)
		}
		if i > 0 {
			line.WriteByte(' ')
		}
		if i > 0 && plainWord(arg) {
			line.WriteString(arg)
			continue
		}
		// What the batch file starts may read a backslash before a quote as in C.
		backslashes := len(arg) - len(strings.TrimRight(arg, `\`))
		line.WriteString(`"` + arg + strings.Repeat(`\`, backslashes) + `"`)
	}
	line.WriteByte('"')
	return line.String(), nil
}

// plainWord reports whether an argument is one for cmd.exe without quotes, too.
func plainWord(arg string) bool {
	other := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`-_./\:+@`, r))
	}
	return arg != "" && arg[0] != '@' && strings.IndexFunc(arg, other) < 0
}
