package runner

import (
	"strings"
	"unicode/utf16"

	"golang.org/x/sys/windows"
)

// oemPage is the code page that consoles have unless something else is set (CP_OEMCP).
const oemPage = 1

// foreignText reads a line that is not UTF-8 by the code page of the console, in which
// cmd.exe and older programs write.
func foreignText(line []byte) string {
	page, err := windows.GetConsoleOutputCP()
	if err != nil || page == 0 || page == 65001 { // no console, or one of UTF-8
		page = oemPage
	}
	wide := make([]uint16, len(line)) // no code page has characters of less than a byte
	n, err := windows.MultiByteToWideChar(page, 0, &line[0], int32(len(line)), &wide[0], int32(len(wide)))
	if err != nil {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	return string(utf16.Decode(wide[:n]))
}
