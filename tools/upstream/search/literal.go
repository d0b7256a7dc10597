package search

import (
	"path"
	"regexp"
	"strings"
)

// A piece is a part of a query: words of the person, or a literal that a call
// would have as an argument, such as a path, and what that hints at.
type piece struct {
	text    string
	literal bool
	hints   string
}

// literals finds what a person quotes: text in quotation marks, addresses, paths,
// names of files, keys of issues.
var literals = regexp.MustCompile(`"[^"]{1,200}"` + // text in quotation marks
	`|(?:^|[\s(])'[^']{1,200}'` +
	`|“[^”]{1,200}”` + "|`[^`]{1,200}`" +
	`|-?\d{1,3}\.\d+\s*,\s*-?\d{1,3}\.\d+` + // coordinates
	`|\b\d[\d.]*\s*[*+/×÷]\s*\d[\d.]*` + // a sum
	`|\+\d[\d -]{5,}` + // number of a telephone
	`|\b[a-z][a-z0-9+.-]*://[^\s"'<>)]+` + // URL
	`|[\w.+-]+@[\w-]+\.[\w.-]+` + // address of mail
	`|(?:[~.]{0,2}/)?(?:[\w.-]+/)+[\w.*-]*` + // path
	`|[~.]{0,2}/[\w.*-]+` +
	`|\b[\w*-]+\.[A-Za-z][A-Za-z0-9]{0,4}\b` + // name of a file or host
	`|\b[A-Z][A-Z0-9]{1,9}-[0-9]+\b` + // key of an issue
	`|[#@][\w-]+` + // issue, channel, user
	`|\b[0-9a-f]{7,40}\b`) // commit

// pieces splits a query into words and literals.
func pieces(query string) []piece {
	var list []piece
	end := 0
	for _, at := range literals.FindAllStringIndex(query, -1) {
		text := strings.TrimSpace(query[at[0]:at[1]])
		if at[0] > end {
			list = append(list, piece{text: query[end:at[0]]})
		}
		list = append(list, piece{text: text, literal: true, hints: hints(text)})
		end = at[1]
	}
	return append(list, piece{text: query[end:]})
}

// hints returns words for what a literal is.
func hints(s string) string {
	switch {
	case strings.Trim(s, "0123456789.,- ") == "" && strings.Contains(s, ","):
		return "coordinates latitude longitude location"
	case strings.HasPrefix(s, "+") && strings.Trim(s, "0123456789+- ") == "":
		return "phone number"
	case strings.Trim(s, "0123456789.*+/×÷ ") == "" && strings.ContainsAny(s, "*+/×÷"):
		return "calculate"
	case strings.Contains(s, "://"):
		return "url web page"
	case strings.HasPrefix(s, "#") && strings.Trim(s[1:], "0123456789") == "":
		return "issue"
	case strings.HasPrefix(s, "#"):
		return "channel"
	case strings.HasPrefix(s, "@"):
		return "user"
	case strings.Contains(s, "@"):
		return "email"
	case strings.ContainsAny(s[:1], "\"'“`"):
		return ""
	case strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" && strings.Contains(s, "-"):
		return "issue"
	case strings.Trim(s, "0123456789abcdef") == "":
		return "commit"
	}
	if patterns := filePatterns[strings.ToLower(path.Ext(s))]; len(patterns) > 0 {
		return "file " + strings.ReplaceAll(strings.Join(patterns, " "), "_", " ")
	}
	if strings.HasSuffix(s, "/") {
		return "directory"
	}
	if strings.Contains(s, "/") && !strings.Contains(s, ".") {
		return ""
	}
	return "file"
}
