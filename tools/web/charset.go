package web

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"toolserver/lazyregexp"
	"toolserver/tools/files/textfile"
)

// decode makes UTF-8 of a body, names the charset it was in, and says whether that is a
// guess: what a byte order mark says, or else the header, the document itself, that it is
// valid UTF-8, or a guess. Undecodable bytes become U+FFFD, as in browsers.
func decode(body []byte, contentType string) (text, name string, guessed bool) {
	_, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain { // neither a mark nor the header
		name, guessed = charsetOf(body, contentType)
	}
	enc, _ := charset.Lookup(name)
	if enc != nil && name != "utf-8" {
		if decoded, err := enc.NewDecoder().Bytes(body); err == nil {
			return strings.TrimPrefix(string(decoded), "\ufeff"), name, guessed
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\ufffd"), "\ufeff"), "utf-8", false
}

// charsetOf returns the label of the charset of a body whose header names none, and
// whether that is a guess.
func charsetOf(body []byte, contentType string) (name string, guessed bool) {
	if media, _, _ := mime.ParseMediaType(contentType); isJSON(media) { // an unreadable type is none
		return "utf-8", false // RFC 8259, section 8.1
	}
	if _, name := charset.Lookup(declared(body)); strings.HasPrefix(name, "utf-16") {
		return "utf-8", false // or the declaration could not have been read
	} else if name != "" {
		return name, false
	}
	if bytes.Contains(body, []byte("\x1b$B")) || bytes.Contains(body, []byte("\x1b$@")) { // ASCII but for what these begin
		return "iso-2022-jp", false
	}
	if mostlyUTF8(body) {
		return "utf-8", false
	}
	if _, name := charset.Lookup(textfile.Guess(body)); name != "" {
		return name, true
	}
	return "windows-1252", true
}

// mostlyUTF8 reports whether a body is UTF-8, except a character cut off at its end
// and at most one stray byte for fifty characters beyond ASCII: in another charset
// hardly any of those would be valid.
func mostlyUTF8(body []byte) bool {
	foreign, bad := 0, 0
	for len(body) > 0 && utf8.FullRune(body) {
		r, size := utf8.DecodeRune(body)
		switch {
		case size > 1:
			foreign++
		case r == utf8.RuneError:
			bad++
		}
		body = body[size:]
	}
	return bad*50 <= foreign && (foreign > 0 || len(body) == 0)
}

// prescan is how much of a document is searched for its charset. Browsers look
// at 1024 bytes; pages that start with scripts declare theirs later.
const prescan = 8 << 10

// declaration finds <meta charset=...>, <meta http-equiv=... content="...;
// charset=..."> and <?xml encoding="..."?>.
var declaration = lazyregexp.New(`(?i)<(?:meta\s[^>]*?charset|\?xml\s[^>]*?encoding)\s*=\s*["']?\s*([a-z0-9._:-]+)`)

// comment is what declares nothing; one that is cut off reaches to the end.
var comment = lazyregexp.New(`(?s)<!--.*?(?:-->|$)`)

// declared returns the charset that a document says it is in, or "".
func declared(body []byte) string {
	head := comment().ReplaceAll(body[:min(len(body), prescan)], nil)
	if m := declaration().FindSubmatch(head); m != nil {
		return string(m[1])
	}
	return ""
}
